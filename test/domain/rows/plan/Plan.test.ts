import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { type Catalogue } from "../../../../src/domain/catalogue/Catalogue.ts"
import { parseRows, queryPairs } from "../../../../src/domain/rows/parse/Parser.ts"
import { planRows } from "../../../../src/domain/rows/plan/Planner.ts"
import { type PreparedRead, RowReads } from "../../../../src/domain/rows/Reads.ts"
import { readSql } from "../../../../src/domain/rows/sql/Statement.ts"
import { catalogueOf, keyOf } from "../../../support/rows/catalogue.ts"

const tables = {
  t: ["id", "a", "b", "u_id", { name: "j", kind: "json" as const, type_oid: 3802 }],
  u: ["id", "name"],
  v: ["id", "t_id", "text"]
}
const relationships = {
  t: [keyOf("t", "u_id", "u", "id", "many-to-one"), keyOf("t", "id", "v", "t_id", "one-to-many")],
  u: [keyOf("u", "id", "t", "u_id", "one-to-many")],
  v: [keyOf("v", "t_id", "t", "id", "many-to-one")]
}
const catalogue = catalogueOf(tables, relationships)

type Pairs = ReadonlyArray<readonly [string, string]>
const plan = (query: string | Pairs, maxRows = 0, known: Catalogue = catalogue) => {
  const from = { schema: "s", name: "t" }
  const pairs = typeof query === "string" ? (queryPairs(query) ?? []) : query
  return Result.getOrThrow(
    planRows(Result.getOrThrow(parseRows(pairs)), {
      catalogue: known,
      source: { _tag: "Relation", name: from },
      from,
      relation: known.relation("s", "t"),
      maxRows,
      aggregates: true,
      filtered: true
    })
  )
}
const json = { media: "json", stripNulls: false } as const
const sql = (query: string | Pairs, known?: Catalogue) =>
  readSql({ rows: plan(query, 0, known).rows, form: json, total: { _tag: "None" } })

describe("plans", () => {
  it("use the row cap or the limit, whichever is less", () => {
    assert.strictEqual(plan("").rows.limit, undefined)
    assert.strictEqual(plan("", 10).rows.limit, "10")
    assert.strictEqual(plan("limit=5", 10).rows.limit, "5")
    assert.strictEqual(plan("limit=11", 10).rows.limit, "10")
    assert.strictEqual(plan("limit=11").rows.limit, "11")
    const { joins } = plan("select=*,v(*),u(*)&v.limit=11", 10).rows
    assert.deepStrictEqual(
      joins.map(({ rows }) => rows.limit),
      ["10", undefined]
    )
  })

  it("are clean if every name is a column and no function is resolved by name", () => {
    for (const query of [
      "select=a,*&b=eq.1&order=a",
      "select=a,v(*),u(name)&v.id=gt.1",
      "select=j->k&j->>k=eq.1",
      "select=count()",
      "select=a.sum(),b.count()",
      "a=fts(english).x",
      "select=a,v(count)"
    ]) {
      assert.isTrue(plan(query).clean, query)
    }
    for (const query of [
      "select=f",
      "f=eq.1",
      "order=f",
      "select=ctid",
      "select=a::text",
      "select=a.sum()::text",
      "a=fts(own).x",
      "select=v(f)"
    ]) {
      assert.isFalse(plan(query).clean, query)
    }
    const other = { ...catalogue.relation("s", "v"), clean_read: false } as NonNullable<
      ReturnType<Catalogue["relation"]>
    >
    const unclean = {
      ...catalogue,
      relation: (schema: string, name: string) => (name === "v" ? other : catalogue.relation(schema, name))
    }
    assert.isTrue(plan("select=a", 0, unclean).clean)
    assert.isFalse(plan("select=a,v(*)", 0, unclean).clean)
    assert.isFalse(plan("select=a,u(t(v()))", 0, unclean).clean)
  })

  it("have one SQL text for each shape and column type", () => {
    const one = sql("a=eq.1&b=in.(1,2)&select=b&limit=3&offset=1")
    const two = sql("a=eq.2&b=in.(3)&select=b&limit=3&offset=9")
    assert.strictEqual(one.text, two.text)
    assert.deepStrictEqual(one.params, ["1", '{"1","2"}', "1"])
    const other = catalogueOf({ ...tables, t: [{ name: "a", type_oid: 23 }, "b"] }, relationships)
    assert.notStrictEqual(sql("a=eq.1").text, sql("a=eq.1", other).text)
  })

  it("give each relation of a statement its own alias", () => {
    for (const name of ["v_1", "t_v_1", "_svc_1", "x".repeat(63)]) {
      const odd = catalogueOf(
        { [name]: ["id", "t_id"], t: ["id"] },
        { t: [keyOf("t", "id", name, "t_id", "one-to-many")], [name]: [keyOf(name, "t_id", "t", "id", "many-to-one")] }
      )
      const { text } = sql([["select", `id,"${name}"(id,t("${name}"(id),x:"${name}"(id)))`]], odd)
      const aliases = [...text.matchAll(/(?:from "s"\."[^"]*"|\)) ("[^"]+")/g)].map(([, alias]) => alias)
      assert.strictEqual(new Set(aliases).size, aliases.length, text)
      for (const alias of aliases) assert.isAtMost(Buffer.byteLength(alias ?? ""), 65)
    }
  })

  it("never include values in the SQL text", () => {
    const value = fc.stringMatching(/^[!-~]{8,20}$/).map((text) => `§${text}§`)
    const operators = fc.constantFrom("eq", "like", "not.ilike", "in", "fts(english)", "match(any)", "isdistinct", "cs")
    const key = fc.constantFrom("a", "j->>k", "v.text", "u.name")
    fc.assert(
      fc.property(value, operators, key, (text, operator, key) => {
        const filter = operator === "in" ? `(${text.replaceAll(/[",\\()]/g, "")})` : text
        const made = sql([
          [key, `${operator}.${filter}`],
          ["select", "id,v(id),u(id)"]
        ])
        assert.notInclude(made.text, "§")
        const path = sql([["select", `j->"${text.replaceAll(/["\\]/g, "")}"`]])
        assert.notInclude(path.text.replaceAll(/as "[^"]*"/g, ""), "§")
      })
    )
  })
})

describe("shapes", () => {
  const reads = () => new RowReads({ maxRows: 100, aggregates: true })
  const read = (query: Pairs) => ({
    schema: "s",
    table: "t",
    query,
    range: undefined,
    count: undefined,
    trusted: false,
    form: json
  })
  const sqlOf = (prepared: Result.Result<PreparedRead, unknown>) =>
    Result.isSuccess(prepared) ? { ...prepared.success.sql, offset: prepared.success.offset } : prepared.failure

  const text = fc.string({ unit: fc.constantFrom(...'a1 ,.()"\\{}*§'), maxLength: 6 })
  const filter = fc.tuple(
    fc.constantFrom("a", "b", "j->>k", "v.text", "u.name", "v.or", "x.a", "offset", "v.offset", "limit", "and"),
    fc.oneof(
      fc
        .tuple(
          fc.constantFrom(
            "eq.",
            "not.neq.",
            "like.",
            "ilike(any).",
            "in.",
            "not.in.",
            "fts.",
            "wfts(x).",
            "is.",
            "cs.",
            ""
          ),
          text
        )
        .map((all) => all.join("")),
      fc.constantFrom("in.(1,2)", 'in.("a,b")', "is.null", "3", "0", "(a.eq.1,b.eq.2)")
    )
  )

  it("give the same statement as planning without the cache, for any query", () => {
    fc.assert(
      fc.property(fc.array(fc.array(filter, { maxLength: 3 }), { minLength: 1, maxLength: 6 }), (queries) => {
        const kept = reads()
        for (const query of queries) {
          const pairs = [...query, ["select", "id,v(id),u(id)"]] as const
          const fresh = reads().prepare(catalogue, read(pairs))
          for (let i = 0; i < 4; i++) assert.deepEqual(sqlOf(kept.prepare(catalogue, read(pairs))), sqlOf(fresh))
        }
      }),
      { numRuns: 300 }
    )
  })

  it("are separate for each catalogue, table and form", () => {
    const kept = reads()
    const first = kept.prepare(catalogue, read([["id", "eq.1"]]))
    const changed = catalogueOf({ t: [{ name: "id", type_oid: 20 }] })
    assert.notDeepEqual(sqlOf(kept.prepare(changed, read([["id", "eq.1"]]))), sqlOf(first))
    const csv = kept.prepare(catalogue, { ...read([["id", "eq.1"]]), form: { media: "csv", stripNulls: false } })
    assert.notDeepEqual(sqlOf(csv), sqlOf(first))
    const other = kept.prepare(catalogue, { ...read([["id", "eq.1"]]), table: "u" })
    assert.notDeepEqual(sqlOf(other), sqlOf(first))
  })
})
