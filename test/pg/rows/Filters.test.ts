import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { layerDatabase, live } from "../../support/database.ts"
import { get, post, refusal } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({
    name: "row_filters",
    settings: { SVC_DB_SCHEMAS: "public, other" },
    before: `
      create schema other;
      create table other.things (id int, name text);
      insert into other.things values (1, 'elsewhere');
      create table public.makers (id int primary key);
      create table other.parts (maker int references public.makers);
      create table things (id int primary key, name text, ok boolean, at timestamptz, tags text[], doc jsonb, raw json, span int4range, p point);
      insert into things values
        (1, 'Anna', true, '2026-01-01', '{a,b}', '{"k": 1}', '1', '[1,5)', '(0,0)'),
        (2, 'anders', false, '2026-02-01 00:00:00+02', '{}', 'null', '2', 'empty', '(1,1)'),
        (3, '50%', null, 'infinity', null, null, null, null, null),
        (4, 'a,b', true, null, '{"x,y"}', '[]', '[]', null, null),
        (5, 'say "hi"', false, null, '{"\\""}', '"x"', '"x"', null, null),
        (6, '(x)', null, null, null, null, null, null, null),
        (7, 'back\\slash', null, null, null, null, null, null, null),
        (8, '', null, null, null, null, null, null, null),
        (9, null, null, null, null, null, null, null, null),
        (10, 'null', null, null, null, null, null, null, null);
      create function shout(things) returns text language sql stable as $$ select upper($1.name) $$;`
  }),
  live
)

const ids = (query: string) =>
  Effect.map(get(`things?select=id&order=id&${query}`), (rows) => rows.map((row) => row["id"]))

suite("reading", (it) => {
  describe("with a filter", () => {
    it.effect.each([
      ["id=eq.1", [1]],
      ["id=not.eq.1&id=lt.4", [2, 3]],
      ["id=neq.1&id=lte.2", [2]],
      ["id=gt.8", [9, 10]],
      ["id=gte.9&id=not.gt.9", [9]],
      ["name=eq.", [8]],
      ["name=eq.null", [10]],
      ["name=eq.a,b", [4]],
      ["name=eq.(x)", [6]],
      ['name=eq.say "hi"', [5]],
      ["name=eq.back\\slash", [7]],
      ["name=like.a*", [2, 4]],
      ["name=ilike.a*", [1, 2, 4]],
      ["name=not.ilike.a*&id=lt.7", [3, 5, 6]],
      ["name=like.*%25*%25", [1, 2, 3, 4, 5, 6, 7, 8, 10]],
      ["name=like.50\\%25", [3]],
      ["name=like.____", [1, 10]],
      ["name=is.null", [9]],
      ["name=not.is.null&id=gt.8", [10]],
      ["name=is.not_null&id=gt.8", [10]],
      ["ok=is.true", [1, 4]],
      ["ok=is.TRUE", [1, 4]],
      ["ok=is.false", [2, 5]],
      ["ok=not.is.false&id=lt.4", [1, 3]],
      ["ok=is.unknown&id=lt.7", [3, 6]],
      ["ok=eq.t", [1, 4]],
      ["id=in.(1,3)", [1, 3]],
      ["id=in.()", []],
      ["id=not.in.(1,2,3,4,5,6,7,8)", [9, 10]],
      ["id=not.in.()&id=lt.3", [1, 2]],
      ['name=in.("a,b",Anna)', [1, 4]],
      ['name=in.("say \\"hi\\"","(x)","back\\\\slash")', [5, 6, 7]],
      ["name=in.(null)", [10]],
      ["name=in.(,x)", [8]],
      ['name=in.("")', [8]],
      ["at=eq.2026-01-01T00:00:00Z", [1]],
      ["at=eq.2026-01-31T22:00:00%2B00:00", [2]],
      ["at=eq.infinity", [3]],
      ["at=lt.2026-01-15", [1]],
      ["tags=eq.{a,b}", [1]],
      ['tags=eq.{"x,y"}', [4]],
      ['doc=eq.{"k": 1.0}', [1]],
      ["doc=eq.null", [2]],
      ["span=eq.[1,4]", [1]],
      ["span=eq.empty", [2]],
      ["shout=eq.ANNA", [1]],
      ["ctid=eq.(0,1)", [1]],
      ["name=eq.'; drop table things; --", []],
      ["name=eq.$1", []]
    ] as const)("%s", ([query, expected]) =>
      Effect.map(ids(query), (found) => assert.deepStrictEqual(found, [...expected]))
    )
  })

  it.effect("sorts rows", () =>
    Effect.gen(function* () {
      const order = (text: string) =>
        Effect.map(get(`things?select=id&id=lt.5&order=${text}`), (rows) => rows.map((row) => row["id"]))
      assert.deepStrictEqual(yield* order("id.desc"), [4, 3, 2, 1])
      assert.deepStrictEqual(yield* order("ok,id.desc"), [2, 4, 1, 3])
      assert.deepStrictEqual(yield* order("ok.desc,id"), [3, 1, 4, 2])
      assert.deepStrictEqual(yield* order("ok.desc.nullslast,id.asc"), [1, 4, 2, 3])
      assert.deepStrictEqual(yield* order("ok.asc.nullsfirst,id.asc"), [3, 2, 1, 4])
      assert.deepStrictEqual(yield* order("ok.nullsfirst,id"), [3, 2, 1, 4])
      assert.deepStrictEqual(yield* order("shout.desc&limit=1"), [1])
    })
  )

  describe("rejects", () => {
    it.effect.each([
      ["nowhere", "404 PGRST205"],
      ["things?nope=eq.1", "400 42703"],
      ["things?select=nope", "400 42703"],
      ["things?order=nope", "400 42703"],
      ["things?id=eq.x", "400 22P02"],
      ["things?id=in.(1,x)", "400 22P02"],
      ["things?at=gt.soon", "400 22007"],
      ["things?id=like.1", "400 42883"],
      ["things?raw=eq.1", "400 42883"],
      ["things?order=raw", "400 42883"],
      ["things?order=p", "400 42883"],
      ["things?name=is.true", "400 42804"],
      ["things?name=like.*\\", "400 22025"],
      ["things?id=eq", "400 PGRST100"],
      ["things?id=1", "400 PGRST100"],
      ["things?id=", "400 PGRST100"],
      ["things?id=EQ.1", "400 PGRST100"],
      ["things?id=foo.1", "400 PGRST100"],
      ["things?id=not.1", "400 PGRST100"],
      ["things?id=not.not.eq.1", "400 PGRST100"],
      ["things?id=constructor.1", "400 PGRST100"],
      ["things?id=__proto__.1", "400 PGRST100"],
      ["things?id=is.nil", "400 PGRST100"],
      ["things?id=in.1,2", "400 PGRST100"],
      ["things?id=in.(1", "400 PGRST100"],
      ['things?id=in.("1)', "400 22P02"],
      ["things?owner.name=eq.1", "400 PGRST108"],
      ["things?select=owner(name)", "400 PGRST200"],
      ["things?select=id,", "400 PGRST100"],
      ["things?select=count()", "400 PGRST123"],
      ['things?select="id', "400 PGRST100"],
      ["things?order=id.up", "400 PGRST100"],
      ["things?order=id.asc.desc", "400 PGRST100"],
      ["things?order=id desc", "400 42703"],
      ["things?order=id;", "400 PGRST100"]
    ] as const)("%s", ([line, expected]) =>
      Effect.map(refusal(get(line.replaceAll("%", "%25"))), (found) => assert.strictEqual(found, expected))
    )
  })

  it.effect("suggests no relation in place of itself, if its keys lead to other schemas", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(get("parts?select=maker,makers(id)", { schema: "other" }))
      assert.deepInclude(refused, { code: "PGRST200", hint: null })
    })
  )

  it.effect("distinguishes tables of the same name in two schemas", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* get("things", { schema: "other" }), [{ id: 1, name: "elsewhere" }])
      yield* post("things", { id: 2 }, { schema: "other" })
      assert.strictEqual((yield* get("things", { schema: "other" })).length, 2)
      assert.strictEqual(yield* refusal(get("shout", { schema: "other" })), "404 PGRST205")
    })
  )

  it.effect("never exposes the service's own schema or PostgreSQL's", () =>
    Effect.gen(function* () {
      for (const schema of ["svc", "pg_catalog", "information_schema", "pg_toast", "nope", 'public"', ""]) {
        for (const table of ["api_keys", "settings", "pg_class", "tables", "things", "svc.api_keys"]) {
          assert.strictEqual(yield* refusal(get(table, { schema })), "404 PGRST205")
          assert.strictEqual(yield* refusal(post(table, {}, { schema })), "404 PGRST205")
        }
      }
    })
  )
})
