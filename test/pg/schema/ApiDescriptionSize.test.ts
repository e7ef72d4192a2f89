import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ApiDescriptions } from "../../../src/services/schema/ApiDescriptions.ts"
import { DatabaseSchemas } from "../../../src/services/schema/DatabaseSchemas.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { layerDatabase, live } from "../../support/database.ts"
import { anon } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({
    name: "api_description_size",
    before: `
      do $$ begin
        for n in 1..2000 loop
          execute format('create table t%s (id int primary key, a text, b int default 3, c jsonb, d timestamptz default now(), e text[])', n);
          if n % 2 = 0 then execute format('alter table t%s add p int references t%s', n, n / 2); end if;
          if n % 10 = 0 then execute format('create view v%s as select * from t%s', n, n); end if;
        end loop;
      end $$;`
  }),
  live
)

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const from = performance.now()
    return Effect.map(effect, (value) => ({ value, millis: performance.now() - from }))
  })

suite("two thousand tables", (it) => {
  it.effect("are described in seconds, and from the cache immediately", () =>
    Effect.gen(function* () {
      const { describe } = yield* ApiDescriptions
      const { main } = yield* Db
      const first = yield* timed(describe(main, anon, "public"))
      const second = yield* timed(describe(main, anon, "public"))
      assert.isAtLeast(Object.keys((JSON.parse(first.value) as { readonly paths: object }).paths).length, 2200)
      assert.isBelow(first.value.length, 24 * 1024 * 1024)
      assert.isBelow(first.millis, 10_000)
      assert.isBelow(second.millis, first.millis / 2)
    })
  )

  it.effect("have types in seconds", () =>
    Effect.gen(function* () {
      const { types } = yield* DatabaseSchemas
      const { value, millis } = yield* timed(types((yield* Db).main, []))
      assert.isBelow(value.length, 8 * 1024 * 1024)
      assert.isBelow(millis, 10_000)
    })
  )
})
