import { Result } from "effect"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { parseCsv } from "../../../src/domain/text/Csv.ts"

describe("parseCsv", () => {
  it.each<[text: string, records: ReadonlyArray<ReadonlyArray<string>>]>([
    ["", []],
    [
      "a,b\n1,2",
      [
        ["a", "b"],
        ["1", "2"]
      ]
    ],
    [
      "a,b\r\n1,2\r\n",
      [
        ["a", "b"],
        ["1", "2"]
      ]
    ],
    [
      "a,b\r1,2\r",
      [
        ["a", "b"],
        ["1", "2"]
      ]
    ],
    ["\uFEFFa\n1\n", [["a"], ["1"]]],
    ["a\n\n1\n\n\n", [["a"], ["1"]]],
    [
      "a,b\n,\n",
      [
        ["a", "b"],
        ["", ""]
      ]
    ],
    [
      "a,b\n1,",
      [
        ["a", "b"],
        ["1", ""]
      ]
    ],
    ['a\n"1,2"\n"x ""y"" z"\n"line\r\nbreak"', [["a"], ["1,2"], ['x "y" z'], ["line\r\nbreak"]]],
    [
      '"a","b"\n"",""',
      [
        ["a", "b"],
        ["", ""]
      ]
    ],
    [
      " a , b\n 1 , 2 ",
      [
        [" a ", " b"],
        [" 1 ", " 2 "]
      ]
    ],
    ["a\nNULL\n", [["a"], ["NULL"]]]
  ])("%j", (text, records) => {
    assert.deepStrictEqual(Result.getOrThrow(parseCsv(text)), records)
  })

  it.each<[text: string, line: number, why: string]>([
    ['a\n"1', 2, "a quoted field does not end"],
    ['a\n"1\n\n2', 2, "a quoted field does not end"],
    ['a\n"1"2', 2, "something follows a quoted field"],
    ['a\r\n"x\r\ny"\r\nb"c', 4, "a quote is in a field that is not quoted"]
  ])("%j is rejected", (text, line, why) => {
    const result = parseCsv(text)
    assert.deepStrictEqual(Result.isFailure(result) && result.failure, { line, text: why })
  })

  const end = fc.constantFrom("\n", "\r\n", "\r")
  const field = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', ",", "\n", "\r", "a", "é", "😀", " ") }))
  const records = fc
    .integer({ min: 1, max: 5 })
    .chain((width) => fc.array(fc.array(field, { minLength: width, maxLength: width }), { maxLength: 6 }))
  const written = (value: string, always: boolean) =>
    always || /[",\r\n\uFEFF]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value

  it("parses any records, quoted or not, with any line end, with or without a final one", () => {
    fc.assert(
      fc.property(records, end, fc.boolean(), fc.boolean(), (rows, lineEnd, quoted, ended) => {
        const text = rows.map((row) => row.map((value) => written(value, quoted)).join(",")).join(lineEnd)
        const there = rows.filter((row) => row.length > 1 || row[0] !== "")
        const result = parseCsv(ended ? text + lineEnd : text)
        assert.deepStrictEqual(Result.getOrThrow(result), there)
      })
    )
  })

  it("returns failures as results, and never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('"', ",", "\n", "\r", "a") }), (text) => void parseCsv(text))
    )
  })
})
