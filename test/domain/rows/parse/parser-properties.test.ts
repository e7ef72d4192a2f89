import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { parseCall, parseRows, queryPairs } from "../../../../src/domain/rows/parse/Parser.ts"
import { anyRowQuery } from "../../../support/rows/anyQuery.ts"
import { rowQueryPairs } from "../../../support/rows/queryText.ts"

const choices = fc.infiniteStream(fc.boolean())

describe("any query", () => {
  it("is unchanged after printing and parsing", () => {
    fc.assert(
      fc.property(anyRowQuery, choices, (query, choices) => {
        const pairs = rowQueryPairs(query, () => choices.next().value)
        for (const parse of [parseRows, parseCall]) assert.deepStrictEqual(Result.getOrThrow(parse(pairs)), query)
      }),
      { numRuns: 1000 }
    )
  })

  it("is the same in any percent-encoding", () => {
    const utf8 = new TextEncoder()
    fc.assert(
      fc.property(anyRowQuery, choices, (query, choices) => {
        const pairs = rowQueryPairs(query, () => choices.next().value)
        const encode = (text: string) =>
          Array.from(text, (char) => {
            if (/[a-zA-Z0-9.,:*()_-]/.test(char) && choices.next().value) return char
            if (char === " " && choices.next().value) return "+"
            const hex = (byte: number) => byte.toString(16).padStart(2, "0")
            return Array.from(
              utf8.encode(char),
              (byte) => `%${choices.next().value ? hex(byte) : hex(byte).toUpperCase()}`
            ).join("")
          }).join("")
        assert.deepStrictEqual(
          queryPairs(pairs.map(([key, value]) => `${encode(key)}=${encode(value)}`).join("&")),
          pairs
        )
        assert.deepStrictEqual(
          queryPairs(new URLSearchParams(pairs.map(([key, value]): [string, string] => [key, value])).toString()),
          pairs
        )
      })
    )
  })
})

describe("any text", () => {
  const fragments = String.raw`a b-> ->> " \ ( ) , . : :: not. eq. in.( is.null and( or( ... ! !inner count() .sum() { } like(any). fts( .desc .nullslast * -1`
  const keys = "select columns on_conflict order limit offset and or a.or a.not.and a.order b"
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.string({ unit: fc.constantFrom(...'"\\(){},.:! ab-*>0\t\n'), maxLength: 30 }),
    fc.array(fc.constantFrom(...fragments.split(" "), " "), { maxLength: 12 }).map((parts) => parts.join(""))
  )
  const key = fc.oneof(text, fc.constantFrom(...keys.split(" ")))

  it("is a query, or fails with the position of the error", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(key, text), { maxLength: 3 }), (pairs) => {
        for (const parse of [parseRows, parseCall]) {
          const result = parse(pairs)
          if (Result.isSuccess(result)) continue
          const { code, details, error } = result.failure
          assert.include(["PGRST100", "2201W"], code)
          if (code !== "PGRST100") continue
          assert.match(error, /^"failed to parse [a-z_ ]+ \([^]*\)" \(line \d+, column \d+\)$/)
          assert.match(
            String(details),
            /^unexpected (?:end of input|"[ -~]+") expecting .|^(?:limit|offset) must be a whole/
          )
        }
      }),
      { numRuns: 5000 }
    )
  })

  it("is parsed in linear time", () => {
    const parts = [
      "(",
      ")",
      '"',
      "\\",
      "a(",
      'a.eq."\\,',
      'a.eq.",',
      "a.eq.{,",
      "a.in.(",
      "and(",
      '"\\",',
      '"\\,',
      "a->b",
      "a-",
      "-"
    ]
    const long = [
      ...parts,
      ".",
      " ",
      "a,",
      "a:",
      "a.",
      "e",
      "not.",
      "é",
      "{",
      "(a.eq.1),",
      "a!b!",
      "...",
      "a.in.("
    ].map((part) => part.repeat(200_000 / part.length))
    for (const text of long) {
      for (const key of ["select", "order", "columns", "a", "or"]) {
        for (const value of [text, `(${text}`, `in.(${text}`, `(a.in.(${text}`]) parseRows([[key, value]])
      }
      parseRows([[text, "eq.1"]])
      parseRows([[`${text}.or`, "(a.eq.1)"]])
    }
    const orders = Array.from({ length: 20_000 }, (_, i) => [`a${i}.order`, "b"] as const)
    assert.strictEqual(Result.getOrThrow(parseRows(orders)).order.length, 20_000)
  }, 30_000)
})
