import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { cellText, CsvReader } from "../../dashboard/src/tables/csv/CsvReader.ts"
import { bodyOf, lineAt, readHead, targetsOf } from "../../dashboard/src/tables/csv/source.ts"

const cell = fc
  .record({
    text: fc.string({ unit: fc.constantFrom("a", '"', ",", ";", "\n", "\r", " ", "é", "🙂") }),
    quoted: fc.boolean()
  })
  // Without quotes such a text would end elsewhere.
  .map(({ quoted, text }) => ({ text, quoted: quoted || /[",;\r\n]/.test(text) }))
const rows = fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 })

describe("reading CSV", () => {
  it("gives what was written, in pieces of any size, with LF and CRLF", () => {
    fc.assert(
      fc.property(rows, fc.constantFrom("\n", "\r\n"), fc.integer({ min: 1, max: 7 }), (written, end, size) => {
        const text = written.map((cells) => cells.map(cellText).join(",") + end).join("")
        const reader = new CsvReader(",")
        const read = []
        for (let at = 0; at < text.length; at += size) read.push(...reader.read(text.slice(at, at + size)))
        read.push(...reader.read("", true))
        assert.deepStrictEqual(
          read.map(({ cells }) => cells),
          written
        )
        for (const { line, end } of read.slice(0, -1)) {
          assert.strictEqual(text[end - 1], "\n")
          assert.isAtLeast(line, 1)
        }
      })
    )
  })

  it("counts lines as PostgreSQL does, those in quotes included", () => {
    const read = new CsvReader(";").read('a;b\n"x\ny";1\n\n2;3', true)
    assert.deepStrictEqual(
      read.map(({ cells, line }) => ({ line, cells: cells.map(({ text }) => text) })),
      [
        { line: 1, cells: ["a", "b"] },
        { line: 2, cells: ["x\ny", "1"] },
        { line: 4, cells: [""] },
        { line: 5, cells: ["2", "3"] }
      ]
    )
  })
})

describe("a file", () => {
  const signal = new AbortController().signal
  const latin = (text: string) => new Blob([Uint8Array.from(text, (char) => char.charCodeAt(0))])

  it("is read with the separator and the encoding that it has", async () => {
    assert.include(await readHead(new Blob(["a,b\n1,2\n"])), { separator: ",", encoding: "utf-8", bodyFrom: 4 })
    assert.include(await readHead(new Blob(["\uFEFFa\tb\n1\t2\n"])), { separator: "\t", bodyFrom: 7 })
    const head = await readHead(latin("größe;preis\n1;1,5\n"))
    assert.include(head, { separator: ";", encoding: "windows-1252" })
    assert.deepStrictEqual(head.names, ["größe", "preis"])
    const utf16 = new Blob([
      new Uint8Array([0xff, 0xfe]),
      new Uint8Array(new Uint16Array(Array.from("a,b\n", (c) => c.charCodeAt(0))).buffer)
    ])
    assert.deepStrictEqual((await readHead(utf16)).names, ["a", "b"])
    assert.deepStrictEqual((await readHead(new Blob([]))).names, [])
  })

  it("finds its columns by name, then by its letters, each once", () => {
    assert.deepStrictEqual(targetsOf(["Customer ID", "customer_id", "Total!", "x"], ["customer_id", "total"]), [
      undefined,
      "customer_id",
      "total",
      undefined
    ])
  })

  it("is sent with the columns' names, in UTF-8, without what is left out", async () => {
    const file = latin('größe;note;preis\r\n1;"a;b";1,5\r\n"";x;"NULL"\r\n')
    const head = await readHead(file)
    const body = await bodyOf(file, head, ["size", undefined, "price"], signal)
    assert.strictEqual(await body.text(), '"size","price"\n1,"1,5"\n"","NULL"\n')
    const same = new Blob(["\uFEFFa,b\r\n1,\u00e9\r\n"])
    assert.strictEqual(await (await bodyOf(same, await readHead(same), ["x", "y"], signal)).text(), '"x","y"\n1,é\r\n')
    const long = new Blob(["a,b\n1,2,3\n"])
    assert.strictEqual(await (await bodyOf(long, await readHead(long), ["x", undefined], signal)).text(), '"x"\n1,3\n')
  })

  it("shows the line that was refused", async () => {
    const file = new Blob([Array.from({ length: 200_000 }, (_, at) => `row ${at + 1}\n`).join("")])
    assert.strictEqual(await lineAt(file, "utf-8", 199_999), "row 199999")
    assert.strictEqual(await lineAt(file, "utf-8", 1), "row 1")
    assert.isUndefined(await lineAt(file, "utf-8", 200_002))
  })
})
