import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { JsonOutline, maxPlaces } from "../../../../src/domain/text/JsonOutline.ts"
import { planPayload } from "../../../../src/domain/rows/plan/Payload.ts"
import { RowScope } from "../../../../src/domain/rows/sql/Scope.ts"
import { changeSql } from "../../../../src/domain/rows/sql/Write.ts"
import { relationOf } from "../../../support/rows/catalogue.ts"

const t = relationOf("a", "b")
const plan = (text: string, only?: ReadonlyArray<string>, relation = t, missing?: "null") => {
  const outline = new JsonOutline(Buffer.from(text), only && new Set(only))
  while (!outline.step(100));
  return planPayload(outline, relation, only, missing)
}
const payload = (...args: Parameters<typeof plan>) => Result.getOrThrow(plan(...args))
const failure = (...args: Parameters<typeof plan>) => Result.getOrThrow(Result.flip(plan(...args)))

describe("payloads", () => {
  it("with the same keys are passed on unchanged", () => {
    const text = '[{"a":1.0,"b":2},\n{"b":null,"a":12345678901234567890}]'
    assert.deepInclude(payload(text), { _tag: "Uniform", json: Buffer.from(text), array: true, rows: 2 })
    const one = '{"a":1}'
    assert.deepInclude(payload(one), { _tag: "Uniform", keys: ["a"], json: Buffer.from(one), array: false, rows: 1 })
    assert.deepInclude(payload("[]"), { _tag: "Uniform", keys: [], rows: 0 })
  })

  it("with different keys list the keys of each row", () => {
    assert.deepStrictEqual(payload('[{"a":1.0},{"b" : 2}, {}]'), {
      _tag: "Mixed",
      texts: false,
      keys: ["a", "b"],
      rows: [
        { json: Buffer.from('{"a":1.0}'), has: new Set(["a"]) },
        { json: Buffer.from('{"b" : 2}'), has: new Set(["b"]) },
        { json: Buffer.from("{}"), has: new Set<string>() }
      ]
    })
    assert.deepInclude(payload('{"a":1,"x":2}', ["a", "b"]), { _tag: "Mixed", keys: ["a", "b"] })
  })

  it("with different keys are limited in rows and values", () => {
    const rows = (count: number, keys: number) => {
      const row = `{${Array.from({ length: keys }, (_, at) => `"c${at}":1`).join(",")}}`
      return `[${Array.from({ length: count - 1 }, () => row).join(",")},{}]`
    }
    const wide = relationOf(...Array.from({ length: 20 }, (_, at) => `c${at}`))
    assert.deepInclude(payload(rows(maxPlaces, 1), undefined, wide), { _tag: "Mixed" })
    assert.deepInclude(failure(rows(maxPlaces + 1, 1), undefined, wide), { code: "TOO_MANY_ROWS" })
    assert.deepInclude(failure(rows(20_000, 20), undefined, wide), { code: "TOO_MANY_ROWS" })
    assert.deepInclude(payload(rows(maxPlaces + 1, 1), undefined, wide, "null"), { _tag: "Uniform" })
  })

  it("with unknown columns name the first, if need be cut", () => {
    assert.include(failure('[{"a":1},{"x":1,"y":2}]').error, "'x' column")
    assert.isBelow(failure(`{"${"x".repeat(5000)}":1}`).error.length, 200)
    const many = `{${Array.from({ length: 2000 }, (_, at) => `"k${at}":1`).join(",")}}`
    assert.deepInclude(failure(many), { code: "PGRST204" })
  })

  it("with NULL for missing keys are uniform", () => {
    assert.deepInclude(payload('[{"a":1},{"b":2}]', undefined, t, "null"), {
      _tag: "Uniform",
      keys: ["a", "b"],
      rows: 2
    })
    assert.deepInclude(payload('{"a":1}', ["b"], t, "null"), { _tag: "Uniform", keys: ["b"] })
  })

  it("of columns with NOT NULL domains read only the columns in the body", () => {
    const strict = relationOf("a", { name: "d", domain: true })
    const sql = (text: string) =>
      changeSql(
        strict,
        { _tag: "Insert", payload: payload(text, undefined, strict), conflict: undefined, where: [] },
        new RowScope()
      )
    assert.include(sql('[{"a":1}]'), 'json_to_recordset($1) _svc_new("a" text)')
    assert.include(sql('{"a":1}'), 'json_to_record($1) _svc_new("a" text)')
    assert.include(sql('[{"a":1,"d":2}]'), "json_populate_recordset(")
    assert.include(sql('{"a":1,"d":2}'), "json_populate_record(")
    assert.include(sql('[{"a":1},{"d":2}]'), 'json_to_record($1) _svc_new("a" text)')
  })
})
