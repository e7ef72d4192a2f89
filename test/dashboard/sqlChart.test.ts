import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { axesOf, type Kind, scaleOf } from "../../dashboard/src/sql/chart/columns.ts"
import { drawingOf, nearest } from "../../dashboard/src/sql/chart/drawing.ts"
import { type Point, pointsOf } from "../../dashboard/src/sql/chart/points.ts"
import { parseResult } from "../../dashboard/src/sql/result/rows.ts"

const resultOf = (columns: Readonly<Record<string, string>>, rows: ReadonlyArray<ReadonlyArray<string>>) =>
  parseResult(
    JSON.stringify({
      columns: Object.entries(columns).map(([name, type]) => ({ name, type, oid: 0 })),
      rows: "ROWS",
      rowCount: rows.length,
      command: "SELECT",
      truncated: false
    }).replace(
      '"ROWS"',
      `[${rows.map((row) => `{${Object.keys(columns).map((name, at) => `"${name}":${row[at]}`)}}`).join(",")}]`
    )
  )
const read = (columns: Readonly<Record<string, string>>, rows: ReadonlyArray<ReadonlyArray<string>>, kind?: Kind) => {
  const result = resultOf(columns, rows)
  return pointsOf(result, axesOf(result, kind === undefined ? {} : { kind }), new AbortController().signal)
}
const heights = fc.oneof(
  fc.constant(null),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -5, max: 5 }),
  fc.constantFrom(0, 9_007_199_254_740_992, Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE)
)
const scales = fc.constantFrom("number", "text", "time" as const)

describe("the chart of a result", () => {
  it("draws every value within its place, however large, small or equal they are", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: -8e12, max: 8e12 }), heights), { minLength: 1, maxLength: 40 }),
        scales,
        fc.constantFrom("line", "bars" as const),
        fc.integer({ min: 240, max: 2000 }),
        (values, scale, kind, width) => {
          fc.pre(values.some(([, y]) => y !== null))
          const ordinal = kind === "bars" || scale === "text"
          const points = values
            .map(([x, y], at): Point => ({ x: ordinal ? at : x, y, xText: String(x), yText: String(y) }))
            .toSorted((a, b) => a.x - b.x)
          const { path, place, plot, xTicks, yTicks } = drawingOf({ points, kind, scale, width, height: 300 })
          assert.notMatch(path, /NaN|Infinity|e/)
          for (const point of points) {
            const { x, y } = place(point)
            assert.isTrue(x >= plot.left - 1e-6 && x <= plot.right + 1e-6, `${x} of ${plot.left} to ${plot.right}`)
            assert.isTrue(y >= plot.top - 1e-6 && y <= plot.bottom + 1e-6)
          }
          const marks = points.filter(({ y }) => y !== null).length
          const lines = points.filter(({ y }, at) => y !== null && (points[at - 1]?.y ?? null) === null).length
          assert.strictEqual(path.split("M").length - 1, kind === "bars" ? marks : lines)
          assert.isAtLeast(xTicks.length, kind === "line" && scale !== "text" && points.length > 1 ? 0 : 1)
          assert.isAtMost(xTicks.length, width / 40)
          for (const { at } of yTicks) assert.isTrue(at >= plot.top - 1e-6 && at <= plot.bottom + 1e-6)
          // Higher is more.
          const known = points.filter(({ y }) => y !== null).toSorted((a, b) => (a.y ?? 0) - (b.y ?? 0))
          for (const [at, point] of known.entries())
            assert.isAtMost(place(point).y, place(known[at - 1] ?? point).y + 1e-6)
          for (const point of points) {
            const found = points[nearest(points, place, place(point).x)]
            assert.closeTo(found === undefined ? NaN : place(found).x, place(point).x, 1e-6)
          }
        }
      )
    )
  })

  it("labels an axis with different words, in round numbers", () => {
    const labels = (values: ReadonlyArray<number>, kind: Kind = "line") => {
      const points = values.map((y, x): Point => ({ x, y, xText: String(x), yText: String(y) }))
      return drawingOf({ points, kind, scale: "number", width: 600, height: 300 }).yTicks.map(({ words }) => words)
    }
    assert.deepStrictEqual(labels([3, 40], "bars"), ["0", "10", "20", "30", "40"])
    assert.deepStrictEqual(labels([-2_000_000, 2_000_000]), ["-2M", "-1M", "0", "1M", "2M"])
    assert.deepStrictEqual(labels([1_000_001, 1_000_004]), ["1,000,001", "1,000,002", "1,000,003", "1,000,004"])
    assert.deepStrictEqual(labels([5e299, 1e300]), ["5e+299", "6e+299", "7e+299", "8e+299", "9e+299", "1e+300"])
    assert.includeMembers(Array.from(labels([7, 7])), ["6", "8"])
  })

  it("reads numbers that are written as texts, times with and without zones, and leaves gaps", async () => {
    assert.deepStrictEqual(
      (
        await read({ at: "timestamp with time zone", n: "numeric" }, [
          [`"2026-01-02 00:00:00+00"`, "9007199254740993"],
          [`"2026-01-01 02:00:00+02"`, "218.90"],
          ["null", "1"],
          [`"infinity"`, "1"],
          [`"2026-01-03T00:00:00.5+05:30"`, "null"],
          [`"2026-01-04 00:00:00"`, `"NaN"`]
        ])
      ).map(({ x, xText, y, yText }) => [new Date(x).toISOString(), y, xText.slice(0, 10), yText]),
      [
        ["2026-01-01T00:00:00.000Z", 218.9, "2026-01-01", "218.90"],
        ["2026-01-02T00:00:00.000Z", 9_007_199_254_740_992, "2026-01-02", "9007199254740993"],
        ["2026-01-02T18:30:00.500Z", null, "2026-01-03", "NULL"],
        ["2026-01-04T00:00:00.000Z", null, "2026-01-04", "NaN"]
      ]
    )
    const bars = await read({ name: "text", n: "integer" }, [
      [`"b"`, "2"],
      ["null", "1"],
      [`""`, "-3"]
    ])
    assert.deepStrictEqual(
      bars.map(({ x, xText, y }) => [x, xText, y]),
      [
        [0, "b", 2],
        [1, "NULL", 1],
        [2, "EMPTY", -3]
      ]
    )
  })

  it("begins with a number by time, by text, by another number, or by the number of the row", () => {
    const chosen = (columns: Readonly<Record<string, string>>) => {
      const { kind, x, y } = axesOf(resultOf(columns, []), {})
      return [x?.name, y?.name, kind, scaleOf(x)]
    }
    assert.deepStrictEqual(chosen({ n: "integer", name: "text", day: "date" }), ["day", "n", "line", "time"])
    assert.deepStrictEqual(chosen({ n: "numeric(10,2)", name: "text" }), ["name", "n", "bars", "text"])
    assert.deepStrictEqual(chosen({ a: "bigint", b: "real" }), ["a", "b", "line", "number"])
    assert.deepStrictEqual(chosen({ a: "bigint" }), [undefined, "a", "line", "number"])
    assert.deepStrictEqual(chosen({ a: "integer[]", b: "jsonb" }), ["a", undefined, "bars", "text"])
  })
})
