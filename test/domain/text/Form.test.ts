import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { queryPairs } from "../../../src/domain/rows/parse/Parser.ts"
import { FormFields, FormObject, maxFields } from "../../../src/domain/text/Form.ts"

const sizes = [1, 3, 65_536]
const read = (text: string, size: number) => {
  const form = new FormFields(Buffer.from(text))
  while (!form.step(size));
  return form
}
/** A form is read as the query of a URL, in which a name needs no `=`. */
const expected = (text: string) =>
  queryPairs(
    text
      .trim()
      .split("&")
      .map((part) => (part === "" || part.includes("=") ? part : `${part}=`))
      .join("&")
  )
const agrees = (text: string, size: number) => {
  const { fields, problem } = read(text, size)
  const pairs = expected(text)
  assert.strictEqual(problem, pairs === undefined ? "encoding" : undefined, JSON.stringify(text))
  if (pairs === undefined) return
  assert.deepStrictEqual(
    fields.map(({ name, value }) => [name, value.toString("utf8")]),
    pairs.map((pair) => [...pair])
  )
  const object = new FormObject(fields)
  while (!object.step(size));
  assert.deepStrictEqual(JSON.parse(object.json.toString("utf8")), Object.fromEntries(pairs), JSON.stringify(text))
}

describe("forms", () => {
  it.each([
    "",
    " ",
    "&",
    "=",
    "a",
    "a=",
    "=a",
    "a=1&b=2",
    "a&b",
    "&&a=1&",
    "a=b=c",
    " a=1 \r\n",
    "a=1&a=2",
    "+=+",
    "a+b=c+d",
    "%41=%42",
    "a=%",
    "a=%4",
    "a=%4g",
    "a=%&b=1",
    "a=%c3%a9",
    "a=%C3",
    "a=%C3&b=%A9",
    "%C3=%A9",
    "a=%00%22%5c%0a",
    "a=é😀",
    "a=%ED%A0%80",
    "a=%F0%9F%98%80",
    "a=%25%32",
    "__proto__=1"
  ])("%j", (text) => {
    for (const size of sizes) agrees(text, size)
  })

  it("are read as the query of a URL, in steps of any size", () => {
    const unit = fc.constantFrom("a", "b", "&", "=", "+", "%", "%41", "%c3", "%a9", "%22", "%0A", "é", "😀", "1")
    fc.assert(fc.property(fc.string({ unit }), fc.constantFrom(...sizes), agrees))
  })

  it("have a limited number of fields", () => {
    assert.isUndefined(read(`${"a=1&".repeat(maxFields - 1)}a=1`, 100).problem)
    assert.strictEqual(read("a=1&".repeat(maxFields + 1), 100).problem, "many")
    assert.strictEqual(read("&".repeat(maxFields + 1), 100).problem, "many")
  })
})
