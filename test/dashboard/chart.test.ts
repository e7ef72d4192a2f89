import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { drawingOf, height, milliseconds, width } from "../../dashboard/src/requests/chart.ts"

const minute = fc
  .record({
    fine: fc.nat(10_000),
    refused: fc.nat(50),
    errors: fc.nat(5),
    p95: fc.double({ min: 0.1, max: 5000, noNaN: true })
  })
  .map(({ errors, fine, p95, refused }) => {
    const requests = fine + refused + errors
    return { requests, refused, errors, p95: requests === 0 ? null : p95 }
  })

describe("the chart of requests", () => {
  it("draws every minute within its bounds, errors lowest, and every kind that there is", () => {
    fc.assert(
      fc.property(fc.array(minute, { maxLength: 60 }), (minutes) => {
        const { bars, line, longest, mostRequests } = drawingOf(minutes)
        assert.strictEqual(bars.length, minutes.length)
        assert.isAtLeast(mostRequests, 1)
        for (const [at, { parts, width: wide, x }] of bars.entries()) {
          const given = minutes[at]
          const kinds = [
            ...((given?.errors ?? 0) > 0 ? ["errors"] : []),
            ...((given?.refused ?? 0) > 0 ? ["refused"] : []),
            ...((given?.requests ?? 0) > (given?.refused ?? 0) + (given?.errors ?? 0) ? ["fine"] : [])
          ]
          assert.deepStrictEqual(
            parts.map(({ kind }) => kind),
            kinds
          )
          assert.isAtLeast(x, 0)
          assert.isAtMost(x + wide, width)
          let bottom = height
          for (const { height: high, y } of parts) {
            assert.closeTo(y + high, bottom, 1e-6)
            bottom = y
          }
          // Small parts are drawn higher than they are.
          assert.isAtLeast(bottom, -5)
        }
        const points = Array.from(
          line.matchAll(/[ML]([\d.]+) ([\d.]+)/g),
          ([, x, y]) => [Number(x), Number(y)] as const
        )
        for (const [x, y] of points) {
          assert.isTrue(x >= 0 && x <= width && y >= 0 && y <= height)
        }
        assert.strictEqual(longest, Math.max(1, ...minutes.map(({ p95 }) => p95 ?? 0)))
        const runs = minutes.filter(({ p95 }, at) => p95 !== null && (minutes[at - 1]?.p95 ?? null) === null).length
        assert.strictEqual(line.split("M").length - 1, runs)
      })
    )
  })
  it("says durations in two digits", () => {
    assert.deepStrictEqual([null, 0.123, 12.34, 999, 1234, 12_345].map(milliseconds), [
      "–",
      "0.12 ms",
      "12 ms",
      "1000 ms",
      "1.2 s",
      "12 s"
    ])
  })
})
