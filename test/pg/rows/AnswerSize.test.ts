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
    settings: { SVC_DB_MAX_RESPONSE_MIB: "1", SVC_RESPONSE_MEMORY_MIB: "32" },
    before: `
      create table p (id int primary key, name text);
      create table ch (id int primary key, p int references p, q int references p);
      insert into p select n, repeat('x', 100) from generate_series(1, 40) n;
      insert into ch select n, 1 + n % 40, 1 + n % 40 from generate_series(1, 800) n;
      create table texts (id int primary key, text text default repeat('y', 600000));
      insert into texts select n from generate_series(1, 4) n;
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
})
