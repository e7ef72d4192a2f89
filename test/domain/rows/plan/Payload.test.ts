import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { elementTexts } from "../../../../src/domain/text/JsonText.ts"
import { planPayload } from "../../../../src/domain/rows/plan/Payload.ts"
import { RowScope } from "../../../../src/domain/rows/sql/Scope.ts"
import { changeSql } from "../../../../src/domain/rows/sql/Write.ts"
import { relationOf } from "../../../support/rows/catalogue.ts"

const t = relationOf("a", "b")
const payload = (text: string, only?: ReadonlyArray<string>, relation = t, missing?: "null") =>
  Result.getOrThrow(planPayload(text, JSON.parse(text), relation, only, missing))

describe("payloads", () => {
  it("with the same keys are passed on unchanged", () => {
    const text = '[{"a":1.0,"b":2},\n{"b":null,"a":12345678901234567890}]'
    assert.deepInclude(payload(text), { _tag: "Uniform", json: text, rows: 2 })
    assert.deepInclude(payload('{"a":1}'), { _tag: "Uniform", keys: ["a"], json: '[{"a":1}]', rows: 1 })
    assert.deepInclude(payload("[]"), { _tag: "Uniform", keys: [], rows: 0 })
  })

  it("with different keys list the keys of each row", () => {
    assert.deepStrictEqual(payload('[{"a":1.0},{"b" : 2}, {}]'), {
      _tag: "Mixed",
      keys: ["a", "b"],
      rows: [
        { json: '{"a":1.0}', has: new Set(["a"]) },
        { json: '{"b" : 2}', has: new Set(["b"]) },
        { json: "{}", has: new Set<string>() }
      ]
    })
    assert.deepInclude(payload('{"a":1,"x":2}', ["a", "b"]), { _tag: "Mixed", keys: ["a", "b"] })
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
    assert.include(sql('{"a":1}'), 'json_to_recordset($1) _svc_new("a" text)')
    assert.include(sql('{"a":1,"d":2}'), "json_populate_recordset(")
    assert.include(sql('[{"a":1},{"d":2}]'), 'json_to_record($1) _svc_new("a" text)')
  })

  it("keep the text of array elements", () => {
    fc.assert(
      fc.property(fc.array(fc.json()), fc.constantFrom("", " ", "\n\t"), (elements, space) => {
        const text = `${space}[${space}${elements.join(`${space},${space}`)}${space}]${space}`
        assert.deepStrictEqual(elementTexts(text), elements)
      })
    )
    assert.deepStrictEqual(elementTexts('["\\\\","]\\"",[1,{"a":[]}]]'), ['"\\\\"', '"]\\""', '[1,{"a":[]}]'])
  })
})
