import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { makeCatalogue, type Relation } from "../../src/domain/Catalogue.ts"
import { elementTexts } from "../../src/domain/JsonText.ts"
import { planPayload, planRows } from "../../src/domain/RowPlan.ts"
import { parseRowQuery } from "../../src/domain/RowQuery.ts"
import { deleteSql, insertSql, readSql, updateSql } from "../../src/domain/RowSql.ts"
import { queryPairs } from "../../src/domain/RowText.ts"

const column = (name: string, domain = false) => ({ name, type: "text", type_oid: 25, generated: false, domain })
const relationOf = (...columns: ReadonlyArray<ReturnType<typeof column>>) =>
  makeCatalogue({
    watched: true,
    relations: [
      {
        schema: "s",
        name: "t",
        stamp: "1",
        columns,
        clean_read: true,
        clean_insert: true,
        clean_change: true
      }
    ],
    routines: []
  }).relation("s", "t") as Relation

const t = relationOf(column("a"), column("b"))
const plan = (query: string, maxRows = 0, relation = t) =>
  planRows(Result.getOrThrow(parseRowQuery(queryPairs(query) ?? [])), relation, maxRows)
const payload = (text: string, only?: ReadonlyArray<string>, relation = t) =>
  Result.getOrThrow(planPayload(text, JSON.parse(text), relation, only))

describe("plans", () => {
  it("the cap and the limit, whichever is less", () => {
    assert.strictEqual(plan("").limit, undefined)
    assert.strictEqual(plan("", 10).limit, "10")
    assert.strictEqual(plan("limit=5", 10).limit, "5")
    assert.strictEqual(plan("limit=11", 10).limit, "10")
    assert.strictEqual(plan("limit=11").limit, "11")
  })

  it("are plain when every name is a column", () => {
    assert.isTrue(plan("select=a,*&b=eq.1&order=a").plain)
    for (const query of ["select=f", "f=eq.1", "order=f", "select=ctid"]) assert.isFalse(plan(query).plain, query)
  })

  it("one shape is one text, another column type is another", () => {
    const one = readSql(plan("a=eq.1&b=in.(1,2)&select=b&limit=3&offset=1"))
    const two = readSql(plan("a=eq.2&b=in.(3)&select=b&limit=3&offset=9"))
    assert.strictEqual(one.text, two.text)
    assert.deepStrictEqual(one.params, ["1", '{"1","2"}', "1"])
    const other = relationOf({ ...column("a"), type_oid: 23 }, column("b"))
    assert.notStrictEqual(readSql(plan("a=eq.1")).text, readSql(plan("a=eq.1", 0, other)).text)
  })

  it("no value is ever in the text", () => {
    const value = fc.stringMatching(/^[!-~]{8,20}$/).map((text) => `§${text}§`)
    fc.assert(
      fc.property(value, fc.constantFrom("eq", "like", "not.ilike", "in"), (text, operator) => {
        const filter = operator === "in" ? `(${text.replaceAll(/[",\\()]/g, "")})` : text
        const asked = planRows(Result.getOrThrow(parseRowQuery([["a", `${operator}.${filter}`]])), t, 0)
        const json = JSON.stringify({ a: text })
        for (const sql of [
          readSql(asked),
          deleteSql(asked, "minimal"),
          updateSql(asked, ["a"], json, "representation"),
          insertSql(asked, payload(json), "representation")
        ]) {
          assert.notInclude(sql.text, "§")
        }
      })
    )
  })
})

describe("payloads", () => {
  it("with the same keys go as they came", () => {
    const text = '[{"a":1.0,"b":2},\n{"b":null,"a":12345678901234567890}]'
    assert.deepInclude(payload(text), { _tag: "Uniform", json: text, rows: 2 })
    assert.deepInclude(payload('{"a":1}'), { _tag: "Uniform", keys: ["a"], json: '[{"a":1}]', rows: 1 })
    assert.deepInclude(payload("[]"), { _tag: "Uniform", keys: [], rows: 0 })
  })

  it("with different keys say what each row has", () => {
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

  it("only the columns that are there are read where a domain may refuse NULL", () => {
    const strict = relationOf(column("a"), column("d", true))
    const sql = (text: string) => insertSql(plan("", 0, strict), payload(text, undefined, strict), "minimal").text
    assert.include(sql('{"a":1}'), 'json_to_recordset($1) _svc_new("a" text)')
    assert.include(sql('{"a":1,"d":2}'), "json_populate_recordset(")
    assert.include(sql('[{"a":1},{"d":2}]'), 'json_to_record($1) _svc_new("a" text)')
  })

  it("elements of an array keep their text", () => {
    fc.assert(
      fc.property(fc.array(fc.json()), fc.constantFrom("", " ", "\n\t"), (elements, space) => {
        const text = `${space}[${space}${elements.join(`${space},${space}`)}${space}]${space}`
        assert.deepStrictEqual(elementTexts(text), elements)
      })
    )
    assert.deepStrictEqual(elementTexts('["\\\\","]\\"",[1,{"a":[]}]]'), ['"\\\\"', '"]\\""', '[1,{"a":[]}]'])
  })
})
