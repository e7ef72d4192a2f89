import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ApiDescriptions } from "../../../src/services/schema/ApiDescriptions.ts"
import { DatabaseSchemas } from "../../../src/services/schema/DatabaseSchemas.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { anon } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({
    name: "api_description_size",
    // The look-ups of each table among those of all others took three times as long.
    settings: { SVC_DB_TIMEOUT: "4s" },
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

suite("two thousand tables", (it) => {
  it.effect("are described, and not written again while nothing changes", () =>
    Effect.gen(function* () {
      const { describe } = yield* ApiDescriptions
      const { main } = yield* Db
      const first = yield* describe(main, anon, "public")
      assert.isAtLeast(Object.keys((JSON.parse(String(first)) as { readonly paths: object }).paths).length, 2200)
      assert.isBelow(first.length, 24 * 1024 * 1024)
      const again = yield* Effect.all(
        [1, 2, 3].map(() => describe(main, anon, "public")),
        { concurrency: "unbounded" }
      )
      // Not strictEqual, which would write the difference of documents of 15 MB.
      for (const document of again) assert.isTrue(document === first)
    })
  )

  it.effect("have types, which are kept until something changes", () =>
    Effect.gen(function* () {
      const { types } = yield* DatabaseSchemas
      const { main } = yield* Db
      const first = yield* types(main, [])
      assert.isBelow(first.length, 8 * 1024 * 1024)
      assert.isTrue((yield* types(main, [])) === first)
      yield* (yield* Outside).sql("create table another (id int)")
      assert.include(yield* types(main, []), "another: {")
    })
  )

  it.effect("are listed with their columns and keys", () =>
    Effect.gen(function* () {
      const { describe } = yield* DatabaseSchemas
      const { tables } = JSON.parse(yield* describe((yield* Db).main)) as {
        readonly tables: ReadonlyArray<{ readonly name: string; readonly foreign_keys: ReadonlyArray<unknown> }>
      }
      assert.isAtLeast(tables.length, 2000)
      assert.strictEqual(tables.filter(({ foreign_keys }) => foreign_keys.length === 1).length, 1000)
    })
  )
})
