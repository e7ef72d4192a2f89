import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { readdirSync } from "node:fs"
import { inject } from "vitest"
import { releases } from "../../../scripts/release/agreement.ts"
import { migrate, type OwnSchema } from "../../../src/layers/install/Migrate.ts"
import { statements } from "../../../src/layers/install/migrations/statements.ts"
import { migrations } from "../../../src/layers/install/OwnMigrations.ts"
import { version } from "../../../src/domain/Version.ts"
import { layerOwnTables } from "../../../src/layers/postgres/Db.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { type Login, parseLogin } from "../../../src/layers/postgres/Login.ts"
import { asking, connect, live } from "../../support/database.ts"
import { contradictions, type Part, partsSql } from "../../support/install/additions.ts"

/** The last migration of the newest release. */
const released = releases.at(-1)?.migration ?? 0
/** Later ones that change what exists, with the reason why versions of the same minor version can bear it. */
const borne: Readonly<Record<string, string>> = {
  "0034_implicit_casts": "the functions do the same as before, with values cast to text explicitly"
}

const numberOf = (key: string) => Number.parseInt(key, 10)
const upTo = (last: number) => Object.fromEntries(Object.entries(migrations).filter(([key]) => numberOf(key) <= last))

/** A database with nothing but an empty schema `svc`. */
const layerEmpty = Layer.effectContext(
  Effect.gen(function* () {
    const root = parseLogin(inject("databaseUrl")) as Login
    const database = `migrate_${process.pid}`
    const ask = asking(yield* connect(root))
    yield* Effect.acquireRelease(ask(`create database ${database}`), () =>
      ask(`drop database ${database} with (force)`)
    )
    const address = Layer.succeed(PostgresAddress, { ...root, database })
    return Context.pick(SqlClient.SqlClient)(yield* Layer.build(Layer.provide(layerOwnTables, address)))
  })
).pipe(Layer.orDie)

const partsNow = Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<Part>(partsSql))
const run = (schema: OwnSchema) => Effect.flatMap(SqlClient.SqlClient, (sql) => migrate(sql, schema))
const ids = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql.unsafe<{ readonly id: number }>("select migration_id::int4 as id from svc.migrations order by 1"),
    (rows) => rows.map(({ id }) => id)
  )
)
/** On an empty schema, of which nothing remains. */
const onEmpty = <A, E>(body: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql
      .withTransaction(
        Effect.andThen(
          sql.unsafe("create schema svc"),
          Effect.flatMap(body, (value) => Effect.fail({ value }))
        )
      )
      .pipe(
        Effect.catchIf(
          (failure): failure is { value: A } => typeof failure === "object" && failure !== null && "value" in failure,
          ({ value }) => Effect.succeed(value)
        )
      )
  )

layer(layerEmpty, live)("migrations of schema svc", (it) => {
  it.effect("are listed, each under the name of its file", () =>
    Effect.sync(() => {
      const files = readdirSync("src/layers/install/migrations")
        .filter((name) => /^\d/.test(name))
        .map((name) => name.replace(/\.ts$/, ""))
      assert.deepStrictEqual(Object.keys(migrations), files.toSorted())
      assert.strictEqual(new Set(files.map(numberOf)).size, files.length, "a number is taken twice")
    })
  )

  it.effect("only add to what is released, so that versions can run beside each other", () =>
    onEmpty(
      Effect.gen(function* () {
        yield* run({ version, migrations: upTo(released) })
        let before = yield* partsNow
        for (const key of Object.keys(migrations).filter((name) => numberOf(name) > released)) {
          yield* run({ version, migrations: upTo(numberOf(key)) })
          const after = yield* partsNow
          if (borne[key] === undefined) assert.deepStrictEqual(contradictions(before, after), [], key)
          before = after
        }
      })
    )
  )

  it.effect("that do more than add are found", () =>
    onEmpty(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* run({ version, migrations: upTo(released) })
        const before = yield* partsNow
        const found = (text: string) =>
          Effect.gen(function* () {
            yield* sql.unsafe("savepoint tried")
            yield* sql.unsafe(`do $tried$ begin ${text}; end $tried$`)
            const result = contradictions(before, yield* partsNow)
            yield* sql.unsafe("rollback to tried")
            return result
          })
        for (const [text, part] of [
          ["drop table svc.change_log", "relation change_log is missing"],
          ["alter table svc.change_log rename to log", "relation change_log is missing"],
          ["alter table svc.webhooks rename column url to address", "column webhooks.url is missing"],
          ["alter table svc.webhooks alter url type varchar", "column webhooks.url is different"],
          ["alter table svc.webhooks alter format drop default", "column webhooks.format is different"],
          ["alter table svc.webhooks alter secret set not null", "column webhooks.secret is different"],
          ["alter table svc.webhooks add owner text not null", "column webhooks.owner is required"],
          ["alter table svc.webhooks add constraint long check (length(url) > 9)", "constraint webhooks.long is new"],
          ["create unique index on svc.webhooks (url)", "index webhooks_url_idx is new"],
          ["alter table svc.webhooks enable row level security", "relation webhooks is different"],
          ["revoke all on svc.webhooks from current_user", "relation webhooks is different"],
          [
            "create trigger more before insert on svc.webhooks execute function svc.notify_keys()",
            "trigger webhooks.more is new"
          ],
          [
            "create or replace function svc.notify_keys() returns trigger language plpgsql as 'begin return new; end'",
            "function svc.notify_keys() is different"
          ],
          ["drop trigger notify_keys on svc.api_keys", "trigger api_keys.notify_keys is missing"]
        ] as const) {
          assert.include((yield* found(text)).join("\n"), part, text)
        }
        for (const text of [
          "create table svc.more (id int primary key, url text not null unique check (url <> ''))",
          "alter table svc.webhooks add owner text, add kind text not null default 'a' check (kind in ('a', 'b'))",
          "alter table svc.webhooks add number int unique",
          "create index on svc.webhooks (url)",
          "create function svc.more() returns int language sql return 1"
        ]) {
          assert.deepStrictEqual(yield* found(text), [], text)
        }
      })
    )
  )

  const [first] = Object.entries(upTo(1))
  const versions = (version: string, ...numbers: ReadonlyArray<number>): OwnSchema => ({
    version,
    migrations: Object.fromEntries([
      first ?? assert.fail(),
      ...numbers.map((n) => [`000${n}_number`, statements(`create table svc.number_${n} ()`)] as const)
    ])
  })

  it.effect("of a newer version are no obstacle within a minor version, and are none of an older one's business", () =>
    onEmpty(
      Effect.gen(function* () {
        yield* run(versions("0.1.9", 3))
        yield* run(versions("0.1.10", 3, 5))
        yield* run(versions("0.1.9", 3))
        assert.deepStrictEqual(yield* ids, [1, 3, 5])
        // A number below the highest, which a later release brings.
        yield* run(versions("0.1.9", 3, 4))
        assert.deepStrictEqual(yield* ids, [1, 3, 4, 5])
        yield* run(versions("0.1.11", 3, 4, 5, 6))
        assert.deepStrictEqual(yield* ids, [1, 3, 4, 5, 6])
        yield* run(versions("0.1.9", 3))
      })
    )
  )

  it.effect("of another minor version stop the start, and so do those that no version is known of", () =>
    onEmpty(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* run(versions("0.2.0", 3))
        yield* run(versions("0.1.7", 3))
        yield* run(versions("0.2.1", 3, 4))
        const refused = yield* Effect.flip(run(versions("0.1.7", 3)))
        assert.strictEqual(
          (refused as Error).message,
          "The database was migrated by version 0.2.1 (migration 4_number); this is version 0.1.7, which knows migrations up to 3 and can only share a database with versions of the same minor version. Start the newer version, or restore a backup from before the upgrade"
        )
        // As a version before this rule left it.
        yield* sql.unsafe("delete from svc.settings where name = 'schema_version'")
        const unknown = yield* Effect.flip(run(versions("0.2.0", 3)))
        assert.match((unknown as Error).message, /^The database was migrated by a newer version \(migration 4_number\)/)
      })
    )
  )
})
