import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { needTypes, paramTexts } from "../../../src/domain/sql/Params.ts"
import { Oid } from "../../../src/domain/sql/Types.ts"

const one = (value: unknown, oid?: number) =>
  Effect.map(paramTexts([value], oid === undefined ? [] : [oid]), ([text]) => text)

const deep = (depth: number) => {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = [value]
  return value
}
const rawJson = JSON as unknown as { readonly rawJSON: (text: string) => unknown }

describe("paramTexts", () => {
  it.effect.each([
    [null, undefined, null],
    ["a'b", undefined, "a'b"],
    ["", undefined, ""],
    [true, undefined, "true"],
    [12, undefined, "12"],
    [0.1, undefined, "0.1"],
    [1e21, undefined, "1e+21"],
    [-0, undefined, "-0"],
    [Number.MAX_SAFE_INTEGER, undefined, "9007199254740991"],
    [rawJson.rawJSON("9007199254740993"), undefined, "9007199254740993"],
    [{ a: [1, "x"] }, undefined, '{"a":[1,"x"]}'],
    [{ a: rawJson.rawJSON("1.10") }, undefined, '{"a":1.10}'],
    [[], undefined, "{}"],
    [[1, null, "a", true, 'say "\\"'], undefined, '{"1",NULL,"a","true","say \\"\\\\\\""}'],
    [
      [
        [1, 2],
        [3, null]
      ],
      undefined,
      '{{"1","2"},{"3",NULL}}'
    ],
    [[{ a: 1 }], undefined, '{"{\\"a\\":1}"}'],
    [[], Oid.jsonb, "[]"],
    [[1, [null], "x"], Oid.json, '[1,[null],"x"]'],
    [[{ a: 1 }, [1, 2], null, '"x"'], Oid.jsonbArray, '{"{\\"a\\":1}","[1,2]",NULL,"\\"x\\""}'],
    [["(1,1),(0,0)", "(3,3),(2,2)"], Oid.boxArray, '{"(1,1),(0,0)";"(3,3),(2,2)"}']
  ] as ReadonlyArray<readonly [unknown, number | undefined, string | null]>)("%j for type %s", ([value, oid, text]) =>
    Effect.map(one(value, oid), (got) => assert.strictEqual(got, text))
  )

  it.effect.each([
    ["half a surrogate pair", "\ud800", undefined],
    ["NaN", Number.NaN, undefined],
    ["more dimensions than arrays have", deep(7), undefined],
    ["JSON that is nested without end", deep(200_000), Oid.jsonb]
  ] as const)("rejects %s", ([, value, oid]) =>
    Effect.map(Effect.flip(one(value, oid)), (error) => {
      assert.strictEqual(error.code, "SQL_INVALID_PARAMETER")
      assert.include(error.error, "$1")
    })
  )

  it.effect("rejects more parameters than the protocol supports", () =>
    Effect.map(
      Effect.flip(
        paramTexts(
          Array.from({ length: 40_000 }, () => 1),
          []
        )
      ),
      (error) => assert.strictEqual(error.code, "SQL_INVALID_PARAMETER")
    )
  )

  it("needs types for arrays only", () => {
    assert.isTrue(needTypes(["x", []]))
    assert.isFalse(needTypes(["x", { a: [] }, null]))
  })
})
