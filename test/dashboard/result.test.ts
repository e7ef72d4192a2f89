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

  it("as CSV has NULL, texts, JSON and arrays as PostgreSQL reads them", async () => {
    const types = { t: "text", j: "jsonb", a: "text[]", n: "numeric[]", js: "jsonb[]", c: "pair" }
    const columns = Object.entries(types).map(([name, type]) => ({ name, type, oid: 0 }))
    const rows =
      '[{"t":"","j":"x","a":["","NULL",null,"q\\"\\\\"],"n":[1.10,2],"js":[{"a":[1]},null],"c":{"n":1,"t":"a,b"}},{"t":null,"j":{"b":9007199254740993},"a":[["x"],["y"]],"n":[],"js":[],"c":null}]'
    const { rows: _, ...rest } = responseOf([], [])
    const text = await textOf(csv, parseResult(`${JSON.stringify({ ...rest, columns }).slice(0, -1)},"rows":${rows}}`))
    const [, first, second] = parseCsv(text)
    const composite = first?.[5]
    assert.deepStrictEqual(first?.slice(0, 5), [
      "",
      '"x"',
      '{"","NULL",NULL,"q\\"\\\\"}',
      '{"1.10","2"}',
      '{"{\\"a\\":[1]}",NULL}'
    ])
    assert.strictEqual(composite, '("1","a,b")')
    assert.deepStrictEqual(second, ["", '{"b":9007199254740993}', '{{"x"},{"y"}}', "{}", "{}", ""])
    assert.include(text, '\r\n"",')
    assert.include(text, "\r\n,")
    const one = (...values: ReadonlyArray<string | null>) =>
      textOf(
        csv,
        parseResult(
          JSON.stringify(
            responseOf(
              ["a,b"],
              values.map((value) => ({ "a,b": value }))
            )
          )
        )
      )
    assert.deepStrictEqual(
      [await one(), await one(null), await one("x", null), await one("NULL")],
      ['"a,b"\r\n', '"a,b"\r\n\r\n', '"a,b"\r\nx\r\n\r\n', '"a,b"\r\n"NULL"']
    )
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
