import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { keyCountsOf, KeyMinutes } from "../../../src/domain/requests/KeyMinutes.ts"
import { Latencies } from "../../../src/domain/requests/Latencies.ts"
import { type Counted, countsOf, Minutes } from "../../../src/domain/requests/Minutes.ts"
import { type Kept, Ring, selects, shown } from "../../../src/domain/requests/Ring.ts"

const request = (changes: Partial<Kept> = {}): Kept => ({
  at: 0,
  id: "id",
  method: "GET",
  path: "/v1/db/notes",
  route: "/v1/db/{table}",
  status: 200,
  code: "",
  millis: 1,
  bytes: 10,
  keyId: 0,
  keyLabel: "",
  identity: "",
  dashboard: false,
  ...changes
})

const minute = 60_000
const durations = fc.array(fc.double({ min: 0.1, max: 600_000, noNaN: true }), { minLength: 1, maxLength: 200 })

describe("latencies", () => {
  it("give percentiles within 15 percent, of any split over processes", () => {
    fc.assert(
      fc.property(durations, durations, fc.double({ min: 0.01, max: 1, noNaN: true }), (mine, others, part) => {
        const [here, there] = [new Latencies(), new Latencies()]
        for (const millis of mine) here.add(millis)
        for (const millis of others) there.add(millis)
        here.merge(JSON.parse(JSON.stringify(there)) as ReadonlyArray<number>)
        const sorted = [...mine, ...others].toSorted((a, b) => a - b)
        const exact = sorted[Math.ceil(part * sorted.length) - 1] ?? 0
        const found = here.percentile(part) ?? 0
        assert.isAtLeast(found, exact * 0.99)
        assert.isAtMost(found, exact * 1.16)
      })
    )
  })
  it("are bounded, whatever the duration", () => {
    const all = new Latencies()
    assert.isNull(all.percentile(0.5))
    for (const millis of [0, -1, 1e12, Number.MIN_VALUE]) all.add(millis)
    assert.strictEqual(all.percentile(0.5), 0.1)
    assert.isBelow(all.toJSON().length, 115)
  })
})

describe("the ring", () => {
  it("keeps the latest, the newest first", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.nat(40), (size, count) => {
        const ring = new Ring(size)
        for (let at = 1; at <= count; at++) ring.add(request({ at }))
        const expected = Array.from({ length: Math.min(size, count) }, (_, i) => count - i)
        assert.deepStrictEqual(
          Array.from(ring.newest(), ({ at }) => at),
          expected
        )
      })
    )
  })
  it("makes no object for a request", () => {
    const ring = new Ring(2)
    for (let at = 1; at <= 2; at++) ring.add(request({ at }))
    const before = new Set(ring.newest())
    for (let at = 3; at <= 9; at++) ring.add(request({ at }))
    for (const slot of ring.newest()) assert.isTrue(before.has(slot))
  })
})

describe("counts of the last hour", () => {
  const now = 1_000_000 * minute + 5
  const over = (counted: Counted) => JSON.parse(JSON.stringify(counted)) as Counted

  it("are exact sums over minutes, routes and processes", () => {
    const one = fc.record({
      process: fc.nat(2),
      ago: fc.integer({ min: 0, max: 59 }),
      route: fc.constantFrom("/a", "/b/{c}", ""),
      method: fc.constantFrom("GET", "POST"),
      status: fc.constantFrom(200, 201, 404, 429, 500, 503),
      bytes: fc.integer({ min: -1, max: 1000 })
    })
    fc.assert(
      fc.property(fc.array(one, { maxLength: 60 }), (all) => {
        const processes = [new Minutes(), new Minutes(), new Minutes()]
        for (const { ago, bytes, method, process, route, status } of all.toSorted((a, b) => b.ago - a.ago)) {
          processes[process]?.add(now - ago * minute, route, method, status, 5, bytes)
        }
        const counts = countsOf(
          now,
          processes.map((one) => [over(one.counted(now, {}))])
        )
        assert.strictEqual(counts.processes, 3)
        assert.strictEqual(counts.minutes.length, 60)
        for (const [at, { bytes, errors, refused, requests }] of counts.minutes.entries()) {
          const mine = all.filter(({ ago }) => ago === 59 - at)
          assert.strictEqual(requests, mine.length)
          assert.strictEqual(errors, mine.filter(({ status }) => status >= 500).length)
          assert.strictEqual(refused, mine.filter(({ status }) => status >= 400 && status < 500).length)
          assert.strictEqual(
            bytes,
            mine.reduce((sum, { bytes }) => sum + Math.max(0, bytes), 0)
          )
        }
        for (const { method, requests, route, statuses } of counts.routes) {
          const mine = all.filter((one) => one.method === method && one.route === (route ?? ""))
          assert.strictEqual(requests, mine.length)
          for (const [status, count] of Object.entries(statuses)) {
            assert.strictEqual(count, mine.filter((one) => one.status === Number(status)).length)
          }
        }
        const wanted = countsOf(now, [[over((processes[0] as Minutes).counted(now, { route: "/a", method: "GET" }))]])
        assert.strictEqual(
          wanted.routes.reduce((sum, { requests }) => sum + requests, 0),
          all.filter(({ method, process, route }) => process === 0 && route === "/a" && method === "GET").length
        )
      })
    )
  })

  it("are bounded, whatever is asked for, and lose no request", () => {
    const minutes = new Minutes()
    for (let i = 0; i < 5000; i++) minutes.add(now, `/${i % 200}`, `M${i % 7}`, 200, 5, 1)
    const { minutes: all, routes } = countsOf(now, [[minutes.counted(now, {})]])
    assert.isAtMost(routes.length, 129)
    assert.strictEqual(all.at(-1)?.requests, 5000)
    assert.deepInclude(routes[0], { route: null, method: "other" })
  })

  it("leave out what is older, and WebSockets from the durations", () => {
    const minutes = new Minutes()
    minutes.add(now - 60 * minute, "/a", "GET", 200, 5, 1)
    minutes.add(now - 59 * minute, "/a", "GET", 101, 3_600_000, -1)
    const { minutes: all, routes } = countsOf(now, [[minutes.counted(now, {})]])
    assert.deepStrictEqual(
      routes.map(({ p95, requests, statuses }) => [requests, p95, statuses]),
      [[1, null, { 101: 1 }]]
    )
    assert.strictEqual(all[0]?.requests, 1)
    assert.strictEqual(all[0]?.minute, new Date((1_000_000 - 59) * minute).toISOString())
    // An hour later, its slot is another minute's.
    minutes.add(now + minute, "/a", "GET", 200, 5, 1)
    const later = countsOf(now + minute, [[minutes.counted(now + minute, {})]])
    assert.deepStrictEqual(
      later.routes.map(({ requests }) => requests),
      [1]
    )
  })
})

describe("counts by key", () => {
  const now = 1_000_000 * minute + 5

  it("are exact sums of the last hour over minutes and processes", () => {
    const one = fc.record({
      process: fc.nat(2),
      ago: fc.integer({ min: 0, max: 130 }),
      key: fc.integer({ min: 1, max: 4 }),
      status: fc.constantFrom(200, 404, 429, 500, 503)
    })
    fc.assert(
      fc.property(fc.array(one, { maxLength: 60 }), (all) => {
        const processes = Array.from({ length: 3 }, () => new KeyMinutes())
        // The clock runs forward only.
        for (const { ago, key, process, status } of all.toSorted((a, b) => b.ago - a.ago))
          processes[process]?.add(now - ago * minute, key, status)
        const found = keyCountsOf(processes.map((one) => one.counted(now)))
        const late = all.filter(({ ago }) => ago < 60)
        const expected = [1, 2, 3, 4].flatMap((key_id) => {
          const mine = late.filter(({ key }) => key === key_id)
          const refused = mine.filter(({ status }) => status < 500 && status >= 400).length
          const errors = mine.filter(({ status }) => status >= 500).length
          return mine.length === 0 ? [] : [{ key_id, requests: mine.length, refused, errors }]
        })
        assert.deepStrictEqual(
          found.toSorted((a, b) => a.key_id - b.key_id),
          expected
        )
      })
    )
  })

  it("are bounded: a key that was idle for an hour makes room for another", () => {
    const keys = new KeyMinutes()
    for (let key = 1; key <= 4097; key++) keys.add(now, key, 200)
    assert.strictEqual(keys.counted(now).length, 4096)
    const later = now + 60 * minute
    keys.add(later, 4097, 500)
    assert.deepStrictEqual(keys.counted(later), [{ key_id: 4097, requests: 1, refused: 0, errors: 1 }])
  })
})

describe("what is looked for", () => {
  it("by each filter", () => {
    const failed = request({ status: 404, path: "/v1/db/Gone", millis: 30, keyId: 7, dashboard: true, id: "abc" })
    for (const query of [
      { status: "4xx" },
      { status: "404" },
      { path: "gone" },
      { slower_than: 30 },
      { key: 7 },
      { request_id: "abc" },
      { method: "GET", route: "/v1/db/{table}", dashboard: "true" as const }
    ]) {
      assert.isTrue(selects(query)(failed), JSON.stringify(query))
    }
    for (const query of [
      { status: "2xx" },
      { status: "400" },
      { path: "notes" },
      { slower_than: 31 },
      { key: 8 },
      { request_id: "ab" },
      { method: "POST" },
      { route: "/v1/db" },
      { dashboard: "false" as const }
    ]) {
      assert.isFalse(selects(query)(failed), JSON.stringify(query))
    }
  })
  it("is shown without keys in paths", () => {
    const { key, path, route } = shown(
      request({ path: "/svc_sk_abc-DEF_1/x/svc_pk_2", route: "", keyId: 3, keyLabel: "web" })
    )
    assert.strictEqual(path, "/svc_sk_…/x/svc_pk_…")
    assert.isNull(route)
    assert.deepStrictEqual(key, { id: 3, label: "web" })
  })
})
