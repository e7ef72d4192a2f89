import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { csv, json, textOf } from "../../dashboard/src/sql/result/copies.ts"
import { parseResult, parseResults, type Result } from "../../dashboard/src/sql/result/rows.ts"
import { exactRow, parseFaithful } from "../../dashboard/src/wire/exact.ts"
import { parseCsv } from "../support/ui/csv.ts"

const column = (name: string) => ({ name, type: "text", oid: 25 })
const responseOf = (names: ReadonlyArray<string>, rows: ReadonlyArray<unknown>) => ({
  columns: names.map(column),
  rows,
  rowCount: rows.length,
  command: "SELECT",
  truncated: false
})
const all = ({ rows }: Result) => rows.slice(0, rows.length)
const tricky = fc.constantFrom('a "b",\r\nc', '\\"}],[{', "\\", '"', "🙂", '"rows":[')
const row = fc.dictionary(fc.oneof(fc.string({ unit: "grapheme" }), tricky), fc.oneof(fc.jsonValue(), tricky))

describe("the result of a statement", () => {
  it("has the rows that the response has, however it is spaced", () => {
    fc.assert(
      fc.property(fc.array(row), fc.nat(3), (rows, indent) => {
        const text = JSON.stringify(responseOf(["one"], rows), null, indent)
        const result = parseResult(text)
        const expected = (parseFaithful(text) as { readonly rows: ReadonlyArray<object> }).rows.map(exactRow)
        assert.deepStrictEqual(JSON.stringify(all(result)), JSON.stringify(expected))
        assert.deepStrictEqual([result.command, result.rowCount, result.truncated], ["SELECT", rows.length, false])
        assert.deepStrictEqual(result.columns, [column("one")])
      })
    )
  })

  it("is one of several in a transaction", () => {
    fc.assert(
      fc.property(fc.array(fc.array(row)), (all) => {
        const text = JSON.stringify({ results: all.map((rows) => responseOf(["one"], rows)) })
        assert.deepStrictEqual(
          parseResults(text).map(({ rows }) => rows.length),
          all.map((rows) => rows.length)
        )
      })
    )
  })

  it("keeps every digit, on the page and in copies", async () => {
    const text = `{"columns":[{"name":"n","type":"numeric","oid":1700}],"rows":[{"n":218.90,"doc":{"id":9007199254740993}}],"rowCount":1,"command":"SELECT","truncated":false}`
    const result = parseResult(text)
    assert.strictEqual(result.rows.at(0)["n"], "218.90")
    assert.strictEqual(JSON.stringify(result.rows.at(0)["doc"]), '{"id":9007199254740993}')
    assert.strictEqual(await textOf(json, result), '[\n  {"n":218.90,"doc":{"id":9007199254740993}}\n]')
    assert.strictEqual(await textOf(csv, result), "n\r\n218.90")
  })

  it("as CSV is read back as it was", () => {
    const cell = fc.oneof(fc.string({ unit: "grapheme" }), fc.integer(), fc.constant(null), tricky)
    return fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(cell, cell), { minLength: 1 }), async (rows) => {
        const objects = rows.map(([one, two]) => ({ one, two }))
        const text = await textOf(csv, parseResult(JSON.stringify(responseOf(["one", "two"], objects))))
        const expected = [["one", "two"], ...rows.map((row) => row.map((value) => String(value ?? "")))]
        assert.deepStrictEqual(parseCsv(text), expected)
      })
    )
  })
})
