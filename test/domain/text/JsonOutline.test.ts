import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { JsonOutline, maxPlaces } from "../../../src/domain/text/JsonOutline.ts"
import { maxJsonDepth } from "../../../src/domain/text/JsonScanner.ts"

const outline = (text: string, size = 65_536, only?: ReadonlySet<string>) => {
  const found = new JsonOutline(Buffer.from(text), only)
  while (!found.step(size));
  return found
}

const parsed = (text: string): readonly [value: unknown] | undefined => {
  try {
    return [JSON.parse(text) as unknown]
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What an outline says, from what `JSON.parse` makes of the text. */
const expected = (value: unknown) => {
  const rows: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  const names = rows.map((row) => (isObject(row) ? Object.keys(row) : []))
  const keys = new Set(names.flat())
  return {
    form: Array.isArray(value) ? "array" : isObject(value) ? "object" : "other",
    rows: rows.length,
    objects: rows.every(isObject),
    keys: [...keys].toSorted(),
    uniform: rows.every(isObject) && names.every((all) => all.length === keys.size),
    places: rows.map((row, at) => ({ row, keys: names[at]?.toSorted() }))
  }
}

const found = (text: string, one: JsonOutline) => ({
  form: one.form,
  rows: one.rows,
  objects: one.objects,
  keys: one.keys.toSorted(),
  uniform: one.uniform,
  places: one.places.map(({ from, keys, to }) => ({
    row: JSON.parse(Buffer.from(text).toString("utf8", from, to)) as unknown,
    keys: keys.toSorted()
  }))
})

const agrees = (text: string, size: number) => {
  const value = parsed(text)
  const one = outline(text, size)
  assert.strictEqual(one.problem, value === undefined ? "invalid" : undefined, JSON.stringify(text))
  if (value !== undefined) assert.deepStrictEqual(found(text, one), expected(value[0]), JSON.stringify(text))
}

const sizes = [1, 2, 3, 7, 65_536]
const space = fc.stringMatching(/^[ \t\n\r]{0,2}$/)
const names = fc.constantFrom("a", "b", "c", "__proto__", "1", "é", "a\\u0062", "\\u0061", "ab", "", "\\n")

/** JSON text with spaces, escapes and repeated names. */
const { text: jsonText } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 3 },
    fc.json(),
    fc.constantFrom("-0", "0", "1e400", "-1.5E+3", "0.10", '"\\ud800"', '"\\"\\\\\\/"', "true", "null", '"é😀"'),
    fc.array(tie("text"), { maxLength: 4 }).map((all) => `[${all.join(",")}]`),
    fc
      .tuple(space, fc.array(fc.tuple(space, names, space, tie("text")), { maxLength: 4 }))
      .map(([inside, all]) => `{${inside}${all.map(([b, name, a, value]) => `${b}"${name}"${a}:${value}`).join(",")}}`)
  )
}))
const rowsText = fc
  .tuple(space, fc.array(fc.tuple(space, jsonText, space), { maxLength: 6 }), space)
  .map(([before, all, after]) => `${before}[${all.map((parts) => parts.join("")).join(",")}]${after}`)

describe("JsonOutline", () => {
  it.each([
    "",
    " ",
    "{",
    "}",
    "[",
    "]",
    "{}",
    "[]",
    " [ ] ",
    "[,]",
    "[1,]",
    "[1 2]",
    "[1,2]]",
    "{}{}",
    "[] x",
    "[}",
    "{]",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    "{,}",
    "{a:1}",
    "{'a':1}",
    '{"a" : 1}',
    '{"a":1 "b":2}',
    '{"a":1,"a":2}',
    '{"a"1}',
    "0",
    "-0",
    "01",
    "-",
    "-a",
    "1.",
    ".5",
    "1.5",
    "1.5.5",
    "1e",
    "1e+",
    "1e5",
    "1E-5",
    "1e400",
    "1e5.5",
    "+1",
    "0x1",
    "00",
    "-01",
    "1a",
    "0e",
    "0e1",
    "0.",
    "0.0",
    "1e1e1",
    "NaN",
    "Infinity",
    "true",
    "tru",
    "trues",
    "nulL",
    "null ",
    "falsefalse",
    '"',
    '"a',
    '"a"',
    '"\\x"',
    '"\\u12"',
    '"\\u12g4"',
    '"\\u00e9"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\n"',
    '"\t"',
    '"\0"',
    '"\u007f"',
    '"\u2028"',
    '"\\',
    '"\\"',
    '"\\"a',
    '"\\u',
    "\uFEFF{}",
    "{}\uFEFF",
    "\u00a0{}",
    "\u000b1",
    "1\f",
    "1\0",
    "\0",
    '{"__proto__":1}',
    '[{"__proto__":1},{"a":1}]',
    '[{"a":1},2]',
    '[1,{"a":1}]',
    '[[{"a":1}]]',
    '[{"a":{"b":[{"c":1}]}}]',
    '[{"a":1},{"\\u0061":2}]',
    '[{"a":1,"\\u0061":2},{"a":1}]',
    '[{"a":1},{},{"a":1,"b":2}]',
    '[{"b":1,"a":1},{"a":1,"b":1}]',
    '[{"a":1,"b":1},{"a":1}]',
    "[{},{}]",
    '["x"]',
    '"{"',
    '{"é😀":1}',
    '[{"é":1},{"é":1}]',
    "/**/1",
    "[1//\n]"
  ])("reads %j as JSON.parse does", (text) => {
    for (const size of sizes) agrees(text, size)
  })

  it("reads any JSON as JSON.parse does, whatever the size of a step", () => {
    fc.assert(fc.property(fc.oneof(jsonText, rowsText), fc.constantFrom(...sizes), agrees))
  })

  it("rejects what JSON.parse rejects", () => {
    const change = fc.tuple(fc.nat(), fc.nat({ max: 2 }), fc.constantFrom(...'{}[]",:\\ue.-+0159tfn \n\0é'))
    const changed = fc.tuple(rowsText, fc.array(change, { minLength: 1, maxLength: 2 })).map(([text, changes]) =>
      changes.reduce((all, [place, drop, add]) => {
        const at = place % (all.length + 1)
        return `${all.slice(0, at)}${add}${all.slice(at + drop)}`.toWellFormed()
      }, text)
    )
    fc.assert(fc.property(changed, fc.constantFrom(...sizes), agrees), { numRuns: 500 })
  })

  it("considers only the names it is given", () => {
    const one = outline('[{"a":1,"x":1},{"y":1,"a":2},{"x":1}]', 5, new Set(["a", "b"]))
    assert.deepStrictEqual(one.keys, ["a"])
    assert.deepStrictEqual(
      one.places.map(({ keys }) => keys),
      [["a"], ["a"], []]
    )
    assert.isFalse(one.uniform)
    assert.isTrue(outline('[{"a":1,"x":1},{"y":1,"a":2}]', 5, new Set(["a", "b"])).uniform)
  })

  it("rejects deeper nesting than PostgreSQL reads", () => {
    const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`
    assert.isUndefined(outline(nested(maxJsonDepth)).problem)
    for (const size of sizes) assert.strictEqual(outline(nested(maxJsonDepth + 1), size).problem, "deep")
  })

  it("keeps no more names and places than a statement can use", () => {
    const many = outline(`{${Array.from({ length: 5000 }, (_, at) => `"k${at}":1`).join(",")}}`)
    assert.strictEqual(many.keys.length, 1601)
    assert.isTrue(many.more)
    assert.isUndefined(many.problem)
    const repeated = outline(`[{${'"a":1,'.repeat(5000)}"b":1},{${'"a":1,'.repeat(5000)}"b":1}]`)
    assert.deepStrictEqual([repeated.keys, repeated.uniform], [["a", "b"], true])
    const rows = outline(`[${"{},".repeat(maxPlaces)}{}]`)
    assert.deepStrictEqual([rows.rows, rows.places.length], [maxPlaces + 1, maxPlaces])
  })

  it("reads no more bytes in a step than it is allowed", () => {
    for (const text of [
      `"${"x".repeat(999)}"`,
      "1".repeat(999),
      `[${"1,".repeat(499)}1]`,
      `{"${"k".repeat(990)}":1}`
    ]) {
      const one = new JsonOutline(Buffer.from(text))
      let steps = 1
      while (!one.step(10)) steps++
      assert.strictEqual(steps, Math.ceil(text.length / 10))
      assert.isUndefined(one.problem)
    }
  })
})
