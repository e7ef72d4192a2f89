import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { catalogue, familyOf, type MetricName } from "../../../src/domain/metrics/Catalogue.ts"
import { type Sample, exposition, sampleOf, samplesOfRequests, summed } from "../../../src/domain/metrics/Sample.ts"
import { Latencies } from "../../../src/domain/requests/Latencies.ts"
import { Minutes } from "../../../src/domain/requests/Minutes.ts"
import { parseMetrics, valueOf } from "../../support/metrics.ts"

const names = Object.keys(catalogue) as Array<MetricName>
const sample: fc.Arbitrary<Sample> = fc
  .tuple(fc.constantFrom(...names), fc.string({ unit: "binary", maxLength: 4 }), fc.nat(50))
  .map(([name, text, value]) => {
    const { bounds, labels } = familyOf(name)
    return {
      name,
      labels: Object.fromEntries(labels.map((label) => [label, text])),
      value: bounds === undefined ? value : { counts: bounds.map(() => value), sum: value / 3, count: value + 1 }
    }
  })

describe("the text of metrics", () => {
  it("follows both formats, whatever the labels contain, and every sample is in it once", () => {
    fc.assert(
      fc.property(
        fc.array(sample, { minLength: 1, maxLength: 30 }),
        fc.constantFrom("text", "openmetrics"),
        (given, format) => {
          const all = summed(given)
          const families = parseMetrics(exposition(all, format as "text"), format as "text")
          const series = Array.from(families.values()).flatMap(({ series }) => series)
          const expected = all.reduce((sum, { name }) => sum + (familyOf(name).bounds?.length ?? -2) + 3, 0)
          assert.strictEqual(series.length, expected)
        }
      )
    )
  })
  it("adds up what several processes report, except what they agree on", () => {
    const build = sampleOf("svc_build_info", { version: "1", commit: "c0ffee", node: "v24" }, 1)
    const clients = (value: number) => sampleOf("svc_realtime_clients", {}, value)
    assert.deepStrictEqual(summed([build, clients(2), build, clients(3)]), [build, clients(5)])
  })
})

describe("the counts of requests", () => {
  it("never fall, over hours in which the minutes are reused, and miss none", () => {
    const minutes = new Minutes()
    let before = 0
    for (let at = 0; at < 150; at++) {
      minutes.add(at * 60_000, "/v1/db/{table}", "GET", at % 2 === 0 ? 200 : 404, 5, 10)
      const families = parseMetrics(exposition(samplesOfRequests(minutes), "text"), "text")
      const now = valueOf(families, "svc_http_requests_total")
      assert.strictEqual(now, ++before)
      assert.strictEqual(valueOf(families, "svc_http_request_duration_seconds_count"), now)
      assert.strictEqual(valueOf(families, "svc_http_response_bytes_total"), 10 * now)
      assert.closeTo(valueOf(families, "svc_http_request_duration_seconds_sum"), 0.005 * now, 1e-9)
    }
  })
  it("have few series, whatever methods callers send", () => {
    const minutes = new Minutes()
    for (let at = 0; at < 400; at++) minutes.add(at * 60_000, "", `M${at}`, 405, 1, 0)
    const methods = new Set(samplesOfRequests(minutes).map(({ labels }) => labels["method"]))
    assert.deepStrictEqual([...methods], ["other"])
  })
  it("put every duration into the bucket of its bound", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 100_000, noNaN: true }), { maxLength: 50 }), (durations) => {
        const latencies = new Latencies()
        for (const millis of durations) latencies.add(millis)
        const { count, counts } = latencies.upToBounds
        assert.strictEqual(count, durations.length)
        for (const [at, bound] of Latencies.bounds.entries()) {
          const [below, above] = [0.998, 1.002].map(
            (slack) => durations.filter((ms) => ms <= bound * 1000 * slack).length
          )
          assert.isAtLeast(counts[at] ?? 0, below ?? 0)
          assert.isAtMost(counts[at] ?? 0, above ?? 0)
        }
      })
    )
  })
})
