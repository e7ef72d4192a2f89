import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { type Actor } from "../../../src/services/ports/Db.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"
import { anon, raw, rpcText } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({
    name: "row_costly",
    settings: { SVC_DB_POOL_SIZE: "15" },
    before: `
      create function held() returns boolean language plpgsql volatile as $$
        begin perform pg_advisory_xact_lock_shared(1); return true; end $$;
      create function sized(held boolean, bytes int) returns text language plpgsql volatile as $$
        begin
          if held then perform pg_advisory_xact_lock_shared(1); end if;
          return repeat('x', bytes);
        end $$;
      create table names (id int primary key, name text);
      insert into names values (1, 'Ada');
      alter table names enable row level security;
      create policy held on names for select using (held());
      create table words (id int primary key, word text);
      insert into words values (1, repeat('a', 30));
      grant select on names, words to anon;`
  }),
  live
)

const at = (client: string): Actor => ({ ...anon, client })

/** Of this database alone: other tests of the server wait for locks too. */
const waitingSql = `select count(*)::int as n from pg_locks where locktype = 'advisory' and not granted
  and database = (select oid from pg_database where datname = current_database())`

suite("functions", (it) => {
  const sized = (held: boolean, bytes: number) =>
    rpcText("sized", { held, bytes }, { actor: at("caller") }).pipe(Effect.exit)

  it.effect("whose answers are large, or not yet known, run two at a time for one client", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const waiting = sql(waitingSql)
      const together = Effect.fnUntraced(function* (expected: number, bytes: number) {
        yield* sql("select pg_advisory_lock(1)")
        const calls = yield* Effect.forEach(Array.from({ length: 6 }), () => Effect.forkChild(sized(true, bytes)))
        yield* eventually(waiting, ([row]) => row?.["n"] === expected)
        yield* Effect.sleep("100 millis")
        assert.deepStrictEqual(yield* waiting, [{ n: expected }])
        yield* sql("select pg_advisory_unlock(1)")
        return yield* Effect.forEach(calls, Fiber.join)
      })
      yield* together(2, 10)
      yield* together(6, 20_000_000)
      yield* together(2, 10)
      yield* together(6, 10)
    })
  )
})

suite("regular expressions", (it) => {
  it.effect("of one client run two at a time, beside its other requests and those of others", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("select pg_advisory_lock(1)")
      const ask = (client: string, query: string) =>
        Effect.forkChild(raw.get(`names?${query}`, { actor: at(client) }), { startImmediately: true })
      const patterns = yield* Effect.forEach(Array.from({ length: 6 }), () => ask("greedy", "name=match.^A"))
      const plain = yield* Effect.forEach(Array.from({ length: 3 }), () => ask("greedy", "id=eq.1"))
      const others = yield* Effect.forEach(["one", "two"], (client) => ask(client, "name=not.imatch.b"))
      const waiting = sql(waitingSql)
      yield* eventually(waiting, ([row]) => row?.["n"] === 2 + 3 + 2)
      yield* Effect.sleep("100 millis")
      assert.deepStrictEqual(yield* waiting, [{ n: 7 }])
      yield* sql("select pg_advisory_unlock(1)")
      for (const fiber of [...patterns, ...plain, ...others]) assert.strictEqual((yield* Fiber.join(fiber)).count, 1)
    })
  )

  it.effect.each(["(((a{200}){200}){200}){200}", "((((a{1,60}){1,60}){1,60}){1,60}){1,60}", "(", "a{999}", "[[:x:]]"])(
    "that PostgreSQL refuses, such as %s, are the caller's mistake",
    (pattern) =>
      Effect.gen(function* () {
        const query = `words?word=match.${encodeURIComponent(`"${pattern}"`)}`
        const refused = yield* Effect.flip(raw.get(query, { actor: at("client") }))
        assert.strictEqual(refused.status, 400, JSON.stringify(refused))
      })
  )
})
