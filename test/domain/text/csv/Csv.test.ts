import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { CsvRows } from "../../../../src/domain/text/csv/Csv.ts"

type Record = ReadonlyArray<string | null>

const sizes = [1, 2, 5, 65_536]
const rowsOf = (text: string, size: number, limit = 1_000_000) => {
  const rows = new CsvRows(Buffer.from(text), limit)
  while (!rows.step(size));
  return rows
}
/** The JSON of records of which the first has the column names. */
const expected = ([names = [], ...records]: ReadonlyArray<Record>) => {
  const rows = records.map((record) => Object.fromEntries(names.map((name, at) => [name, record[at]])))
  return rows.length === 1 ? rows[0] : rows
}
const agrees = (text: string, records: ReadonlyArray<Record>, size: number) => {
  const rows = rowsOf(text, size)
  assert.isUndefined(rows.problem, JSON.stringify(text))
  assert.deepStrictEqual(JSON.parse(rows.json.toString("utf8")), expected(records), JSON.stringify(text))
}

describe("CsvRows", () => {
  it.each<[text: string, records: ReadonlyArray<Record>]>([
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
    ["a\n\n1\n\n\n", [["a"], [null], ["1"], [null], [null]]],
    [
      "a,b\n\n1,2\n\n\n",
      [
        ["a", "b"],
        ["1", "2"]
      ]
    ],
    [
      "a,b\n,\n",
      [
        ["a", "b"],
        [null, null]
      ]
    ],
    [
      "a,b\n1,",
      [
        ["a", "b"],
        ["1", null]
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
    ["a\nNULL\n", [["a"], [null]]],
    ["a", [["a"]]],
    ['\n\r\n""\na\n""\n"NULL"\n2', [["a"], [""], ["NULL"], ["2"]]],
    [
      'a,b\n"\u0001\t""\\",\n"é😀\r",\u007f',
      [
        ["a", "b"],
        ['\u0001\t"\\', null],
        ["é😀\r", "\u007f"]
      ]
    ]
  ])("%j", (text, records) => {
    for (const size of sizes) agrees(text, records, size)
  })

  it.each<[text: string, why: string]>([
    ['a\n"1', "The body is not valid CSV: line 2: a quoted field does not end"],
    ['a\n"1\n\n2', "The body is not valid CSV: line 2: a quoted field does not end"],
    ['a\n"1"2', "The body is not valid CSV: line 2: something follows a quoted field"],
    ['a\r\n"x\r\ny"\r\nb"c', "The body is not valid CSV: line 4: a quote is in a field that is not quoted"],
    ['a\r"x\ry\n"\rb"c', "The body is not valid CSV: line 5: a quote is in a field that is not quoted"],
    ["", "The body is not valid CSV: the line with the column names is missing"],
    ["\n\n", "The body is not valid CSV: the line with the column names is missing"],
    ["a,b,a\n1,2,3", "The body is not valid CSV: a column name is repeated"],
    ["a,b\n1,2\n1", "All lines must have same number of fields: line 3 has 1, the first line has 2"],
    ["a,b\n1,2,3", "All lines must have same number of fields: line 2 has more than 2, the first line has 2"],
    ['a\n1,2"', "All lines must have same number of fields: line 2 has more than 1, the first line has 1"],
    ["a,b\n1,2\n1,2,", "All lines must have same number of fields: line 3 has more than 2, the first line has 2"],
    [",".repeat(1600), "The body is not valid CSV: there are more than 1600 columns"]
  ])("%j is rejected", (text, why) => {
    for (const size of sizes) assert.strictEqual(rowsOf(text, size).problem, why)
  })

  it("limits the JSON", () => {
    const text = `a long name\n${"x\n".repeat(1000)}`
    assert.isTrue(rowsOf(text, 100, 10_000).tooLarge)
    assert.isFalse(rowsOf(text, 100, 30_000).tooLarge)
  })

  it("reads no more bytes in a step than it is allowed", () => {
    for (const text of [`a\n${"x".repeat(998)}`, `a\n"${"x".repeat(996)}"`, `a,b\n${",\n".repeat(498)}`]) {
      const rows = new CsvRows(Buffer.from(text), 100_000)
      let steps = 1
      while (!rows.step(10)) steps++
      assert.strictEqual(steps, 100)
    }
  })

  const end = fc.constantFrom("\n", "\r\n", "\r")
  const field = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', ",", "\n", "\r", "a", "é", "😀", " ") }))
  const records = fc
    .integer({ min: 1, max: 5 })
    .chain((width) => fc.array(fc.array(field, { minLength: width, maxLength: width }), { maxLength: 6 }))
  const written = (value: string, always: boolean) =>
    always || /[",\r\n\uFEFF]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value

  it("reads any records, quoted or not, with any line end, with or without a final one, in steps of any size", () => {
    fc.assert(
      fc.property(
        records,
        end,
        fc.boolean(),
        fc.boolean(),
        fc.constantFrom(...sizes),
        (rows, lineEnd, quoted, ended, size) => {
          const names = (rows[0] ?? [""]).map((_, at) => `c${at}`)
          const text = [names, ...rows].map((row) => row.map((value) => written(value, quoted)).join(",")).join(lineEnd)
          const bare = (value: string) => (!quoted && (value === "" || value === "NULL") ? null : value.toWellFormed())
          // Without an end, an empty last line is none.
          const last = text.endsWith(lineEnd) && !ended && names.length === 1 ? rows.slice(0, -1) : rows
          // Lone surrogates have no UTF-8.
          agrees(ended ? text + lineEnd : text, [names, ...last.map((row) => row.map(bare))], size)
        }
      )
    )
  })

  it("finds the same in steps of any size", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('"', ",", "\n", "\r", "a"), maxLength: 20 }), (text) => {
        const [first, ...others] = sizes.map((size) => rowsOf(text, size))
        for (const other of others) {
          assert.strictEqual(other.problem, first?.problem)
          if (first?.problem === undefined) assert.deepStrictEqual(other.json, first?.json)
        }
      }),
      { numRuns: 1000 }
    )
  })
})
