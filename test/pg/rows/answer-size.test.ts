import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { AnswerBudget } from "../../../src/services/access/AnswerBudget.ts"
import { type Actor, Db } from "../../../src/services/ports/Db.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { anon, raw, rawRpc, service } from "../../support/requests.ts"

const size = 1024 * 1024

const suite = layer(
  layerDatabase({
    name: "row_answer_size",
    settings: { SVC_DB_AGGREGATES: "true", SVC_DB_MAX_RESPONSE_MIB: "1", SVC_RESPONSE_MEMORY_MIB: "32" },
    before: `
      create table p (id int primary key, name text);
      create table ch (id int primary key, p int references p, q int references p);
      insert into p select n, repeat('x', 100) from generate_series(1, 40) n;
      insert into ch select n, 1 + n % 40, 1 + n % 40 from generate_series(1, 800) n;
      create table texts (id int primary key, text text default repeat('y', 600000));
      insert into texts select n from generate_series(1, 4) n;
      create type kind as enum ('plain');
      create table cells (id text primary key, t text, v varchar, c char(8), doc jsonb, raw json, tags text[], n numeric,
        at timestamptz, b bytea, k kind, p int references p, computed text generated always as (t || '!') stored);
      insert into cells (id, t, v, c, doc, raw, tags, n, at, b, k, p) values
        ('none', null, null, null, null, null, null, null, null, null, null, null),
        ('short', '', 'v', 'c', 'null', '"q"', '{}', 1.50, '2026-01-01', '', 'plain', 1),
        ('exact', 'ééééé', '12345', 'c', '123', '"123"', '{1}', 12345, 'infinity', '', 'plain', 1),
        (repeat('long', 50), 'éééééé', repeat('v', 600000), 'c', jsonb_build_object('a', repeat('x', 600000)), '"\\u0000 \\" quoted"',
          '{a,b,c}', 123456, '2026-01-01', '\\x00112233', 'plain', 2);
      create table odd (id int primary key, "$cut" text);
      create function initial(cells) returns text language sql stable as $$ select repeat(left($1.v, 1), 9) $$;
      create table log (id int generated always as identity, text text);
      create function large() returns text language plpgsql as $$
        begin insert into log (text) values ('called'); return repeat('z', 2000000); end $$;
      create function large_rows() returns setof log language plpgsql as $$
        begin return query insert into log (text) select repeat('z', 600000) from generate_series(1, 3) returning *; end $$;
      grant all on all tables in schema public to anon;`
  }),
  live
)

const rowsIn = (table: string) =>
  Effect.map(
    Effect.flatMap(Outside, ({ sql }) => sql(`select count(*)::int as n from ${table}`)),
    ([row]) => row?.["n"]
  )

suite("answers", (it) => {
  it.effect("to anon callers have a limit, and larger ones to service keys", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(raw.get("texts?id=lt.3", { actor: anon }))
      assert.deepInclude(refused, { code: "RESULT_TOO_LARGE", status: 400 })
      assert.strictEqual((yield* raw.get("texts?id=eq.1", { actor: anon })).count, 1)
      assert.strictEqual((yield* raw.get("texts?id=lt.3", { actor: service })).count, 2)
    })
  )

  it.effect("are read again on a connection of their own when they turn out to be large", () =>
    Effect.gen(function* () {
      // Quick at first, so that the text is pipelined.
      for (let n = 0; n < 5; n++) yield* raw.get("texts?id=gt.10&id=lt.20", { actor: anon })
      const answers = yield* Effect.forEach(
        Array.from({ length: 8 }),
        () => raw.get("texts?id=gt.0&id=lt.2", { actor: anon }),
        { concurrency: "unbounded" }
      )
      for (const { body } of answers) assert.isAbove(body.length, 600_000)
    })
  )

  it.effect.each([
    "p?select=name,ch!p(id,p!p(name,ch!p(id,p!p(name,ch!p(id)))))",
    "p?select=name,...ch!p(id,p!p(ch!p(p!p(ch!p(p!p(name,...ch!p(id,text:p!p(name))))))))&id=eq.1",
    "ch?select=id,p!p(name,ch!p(p!p(ch!p(p!p(ch!p(p!p(ch!p(p!p(name)))))))))&id=eq.1"
  ])("of nested arrays are not built beyond the limit: %s", (line) =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(raw.get(line, { actor: anon }))
      assert.deepInclude(refused, { code: "RESULT_TOO_LARGE", status: 400 })
    })
  )

  it.effect("of nested arrays within the limit are the same as without one", () =>
    Effect.gen(function* () {
      const line = "p?select=id,ch!p(id,p!q(id,ch!q(id)))&id=lte.2&ch.order=id.desc&ch.limit=3&order=id"
      const [limited, whole] = yield* Effect.all([raw.get(line, { actor: anon }), raw.get(line, { actor: service })])
      assert.deepStrictEqual(JSON.parse(limited.body), JSON.parse(whole.body))
      const [first] = JSON.parse(limited.body) as [{ ch: ReadonlyArray<{ id: number; p: { ch: Array<object> } }> }]
      assert.deepStrictEqual(
        first.ch.map(({ id }) => id),
        [800, 760, 720]
      )
      assert.lengthOf(first.ch[0]?.p.ch ?? [], 20)
    })
  )

  it.effect("of writes that are too large undo the write", () =>
    Effect.gen(function* () {
      const rows = JSON.stringify([{ id: 11 }, { id: 12 }])
      const refused = yield* Effect.flip(raw.post("texts", rows, { actor: anon, returning: "representation" }))
      assert.strictEqual(refused.code, "RESULT_TOO_LARGE")
      assert.strictEqual(yield* rowsIn("texts"), 4)
      yield* raw.post("texts", rows, { actor: anon, returning: "minimal" })
      assert.strictEqual(yield* rowsIn("texts"), 6)
    })
  )

  it.effect.each(["large", "large_rows"])("of the function %s undo what it did", (name) =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(rawRpc(name, undefined, { actor: anon }))
      assert.strictEqual(refused.code, "RESULT_TOO_LARGE")
      assert.strictEqual(yield* rowsIn("log"), 0)
    })
  )

  it.effect("wait in PostgreSQL while the memory for answers is in use", () =>
    Effect.gen(function* () {
      const memory = yield* AnswerBudget
      const { main } = yield* Db
      const at = (client: string): Actor => ({ ...anon, client })
      const read = (client: string) =>
        main.run(at(client), { text: "select pg_catalog.repeat('x', 800000)", params: [], access: "read" })
      memory.add("unread", 40 * size)
      const waiting = yield* Effect.forkChild(read("one"), { startImmediately: true })
      const cancelled = yield* Effect.forkChild(read("two"), { startImmediately: true })
      const small = yield* main.run(at("three"), { text: "select 'small'", params: [], access: "read" })
      assert.strictEqual(small[0], "small")
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 200)))
      assert.isUndefined(waiting.pollUnsafe())
      yield* Fiber.interrupt(cancelled)
      memory.release("unread", 40 * size)
      const [text] = yield* Fiber.join(waiting)
      assert.lengthOf(String(text), 800_000)
      // What has arrived is no longer counted here.
      const { now } = memory.receive("unread", 1, () => undefined)
      assert.isTrue(now)
      memory.release("unread", 1)
    })
  )

  it.effect.each([
    "cells?order=id",
    "cells?select=*,ref:p(id,name),initial,a:doc->a,w:at::text&order=id.desc",
    "cells?select=t,total:n.sum()&order=t",
    "cells?select=t,...p(name)&order=id&limit=2&offset=1"
  ])("with max-cell are the same but for the values that they name as cut: %s", (line) =>
    Effect.gen(function* () {
      type Rows = ReadonlyArray<Readonly<Record<string, unknown>>>
      const rowsOf = ({ body }: { readonly body: string }) => JSON.parse(body) as Rows
      const whole = rowsOf(yield* raw.get(line))
      for (const form of [{}, { stripNulls: true }]) {
        const answer = yield* raw.get(line, { prefer: { maxCell: 5, count: "exact" }, form })
        const found = rowsOf(answer)
        assert.strictEqual(found.length, whole.length)
        assert.isBelow(answer.body.length, 2000)
        for (const [at, { $cut: sizes, ...row }] of found.entries()) {
          const cut = (sizes ?? {}) as Readonly<Record<string, number>>
          for (const [name, value] of Object.entries(whole[at] ?? {})) {
            if (!(name in cut)) assert.deepStrictEqual(row[name] ?? null, value)
            else {
              const shown = row[name] as string
              const text = name === "t" || name === "v" ? String(value) : JSON.stringify(value)
              assert.isAtMost([...shown].length, 5)
              assert.isAbove([...text].length, 5)
              assert.isAbove(cut[name] ?? 0, 5)
              if (name === "t" || name === "v") assert.isTrue(text.startsWith(shown))
            }
          }
        }
      }
    })
  )

  it.effect("with max-cell cut neither the primary key nor what is short, and read values only as far as needed", () =>
    Effect.gen(function* () {
      const { body } = yield* raw.get("cells?select=*&id=like.long*", { prefer: { maxCell: 5 } })
      const [row] = JSON.parse(body) as ReadonlyArray<Readonly<Record<string, unknown>>>
      assert.strictEqual(row?.["id"], "long".repeat(50))
      assert.deepInclude(row, {
        t: "ééééé",
        v: "vvvvv",
        at: "2026-01-01T00:00:00+00:00",
        p: 2,
        doc: '{"a":',
        tags: '["a",',
        raw: "\\u00"
      })
      assert.deepStrictEqual(Object.keys(row?.["$cut"] ?? {}), [
        "t",
        "v",
        "c",
        "doc",
        "raw",
        "tags",
        "n",
        "b",
        "k",
        "computed"
      ])
      assert.include(row?.["$cut"] as object, { t: 12, v: 600_000 })
      const [none] = JSON.parse((yield* raw.get("cells?select=id,t&id=eq.none", { prefer: { maxCell: 5 } })).body) as [
        object
      ]
      assert.deepStrictEqual(none, { id: "none", t: null, $cut: null })
      assert.strictEqual(
        (yield* raw.get("cells?select=p()", { prefer: { maxCell: 5 } })).body,
        "[{},{},{},{}]".replaceAll(",{", ", \n {")
      )
    })
  )

  it.effect("with max-cell are refused if they have a column with the name of the field for cut values", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(raw.get("odd", { prefer: { maxCell: 5 } }))
      assert.deepInclude(refused, { code: "INVALID_REQUEST", status: 400 })
      assert.strictEqual((yield* raw.get("odd?select=cut:$cut", { prefer: { maxCell: 5 } })).count, 0)
    })
  )
})
