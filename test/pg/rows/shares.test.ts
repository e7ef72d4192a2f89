import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { type Actor, Db } from "../../../src/services/ports/Db.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"

const suite = layer(
  layerDatabase({
    name: "row_shares",
    settings: { SVC_DB_POOL_SIZE: "5" },
    before: `
      create function held() returns int language plpgsql volatile as $$
        begin perform pg_advisory_xact_lock_shared(1); return 1; end $$;
      create function quick() returns int language plpgsql volatile as $$ begin return 2; end $$;`
  }),
  live
)

const anonAt = (client: string): Actor => ({ role: "anon", claims: "", sub: "", client })
const call = (name: string) => ({ text: `select public.${name}()::text`, params: [], access: "write" as const })

suite("one client", (it) => {
  it.effect("leaves connections for others, however many requests it has", () =>
    Effect.gen(function* () {
      const { main } = yield* Db
      const { sql } = yield* Outside
      yield* sql("select pg_advisory_lock(1)")
      const greedy = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 12 }), () => main.run(anonAt("greedy"), call("held")), {
          concurrency: "unbounded"
        }),
        { startImmediately: true }
      )
      const waiting = sql(`select count(*)::int as n from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`)
      yield* eventually(waiting, ([row]) => row?.["n"] === 4)
      // The others take turns on what is left.
      const others = ["one", "two", "three", "one"]
      const answers = yield* Effect.forEach(others, (client) => main.run(anonAt(client), call("quick")), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        answers.map(([value]) => value),
        ["2", "2", "2", "2"]
      )
      yield* sql("select pg_advisory_unlock(1)")
      assert.lengthOf(yield* Fiber.join(greedy), 12)
    })
  )
})
