import { runInNewContext } from "node:vm"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { parseWithEscapedKeys } from "../../../src/domain/text/EscapedKeys.ts"

/** V8's own, which the set-up of tests has replaced here. */
const native = runInNewContext("JSON.parse") as Parameters<typeof parseWithEscapedKeys>[0]
const parse = parseWithEscapedKeys(native)

/** All characters but ASCII letters as escapes, as some clients write them. */
const ascii = (json: string) =>
  json.replaceAll(/[\u007f-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)
const tricky = fc.constantFrom(
  "\\",
  '"',
  "a\\",
  'a"',
  "\n",
  "\\n",
  "A",
  "ä",
  "gr\\",
  "größe",
  "\\u00e4",
  "__proto__",
  "1"
)
const value = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue(),
    tricky,
    fc.array(tie("node")),
    fc
      .array(fc.tuple(fc.oneof(tricky, fc.string({ unit: "binary" })), tie("node")))
      .map((pairs) => Object.fromEntries(pairs))
  )
})).node

describe("JSON with escaped names of fields", () => {
  it("is read as it is, whatever was read before", () => {
    for (const [before, text, key] of [
      ['{"x":1,"\\\\":1}', '{"x":1,"\\u0041":1}', "A"],
      ['{"y":1,"\\\\":1}', '{"y":1,"\\"":1}', '"'],
      ['{"z":1,"\\\\n":1}', '{"z":1,"\\n":1}', "\n"],
      ['{"w":1,"gr\\\\":1}', '{"w":1,"gr\\u00f6\\u00dfe":1}', "größe"]
    ] as const) {
      parse(before)
      assert.strictEqual(Object.keys(parse(text) as object)[1], key, text)
    }
  })

  it("has the values that it was written from", () => {
    fc.assert(
      fc.property(value, fc.nat(2), fc.boolean(), (given, indent, escaped) => {
        const json = JSON.stringify(given, null, indent)
        assert.strictEqual(JSON.stringify(parse(escaped ? ascii(json) : json)), JSON.stringify(given))
      }),
      { numRuns: 2000 }
    )
  })

  it("may be nested deeper than calls, and has names that a text can't guess", () => {
    const depth = 100_000
    const nested = parse('{"\\"":'.repeat(depth) + "[]" + "}".repeat(depth))
    let levels = 0
    for (let at = nested as Record<string, unknown>; !Array.isArray(at); levels++) at = at['"'] as typeof at
    assert.strictEqual(levels, depth)
    const marked = { '"': 1, "\uE0000.5 0": 2 }
    assert.deepStrictEqual(parse(JSON.stringify(marked)), marked)
  })

  it("has the keys, numbers' sources and holders for a reviver", () => {
    const seen: Array<unknown> = []
    parse('{"a\\"":{"b\\\\":218.90}}', function (this: unknown, key, found, context) {
      seen.push([key, (context as { readonly source?: string }).source, Object.keys(this as object)])
      return found
    })
    assert.deepStrictEqual(
      seen.slice(0, 1).map((one) => (one as Array<unknown>).slice(0, 2)),
      [["b\\", "218.90"]]
    )
    assert.deepStrictEqual(
      seen.map((one) => (one as Array<unknown>)[0]),
      ["b\\", 'a"', ""]
    )
  })

  it("is refused where V8 refuses it, with its message", () => {
    const outcome = (read: typeof parse, text: string) => {
      try {
        return JSON.stringify(read(text))
      } catch (cause) {
        return String(cause)
      }
    }
    for (const text of [
      '{"\\x":1}',
      '{"a\\"":1,}',
      '{"a\\"',
      '"\\',
      '{"\\"":\u0001}',
      '["\\"":1]',
      '{"a\\u12":1}',
      "\\"
    ]) {
      assert.match(outcome(parse, text), /^SyntaxError/, text)
    }
    fc.assert(
      fc.property(fc.array(fc.constantFrom("{", "}", '"', "\\", ":", ",", "a", "u00e4", " ", "[", "]")), (parts) => {
        const text = parts.join("")
        assert.strictEqual(
          outcome(parse, text).startsWith("SyntaxError"),
          outcome(native, text).startsWith("SyntaxError"),
          text
        )
      }),
      { numRuns: 5000 }
    )
  })
})
