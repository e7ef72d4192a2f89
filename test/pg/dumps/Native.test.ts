import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe } from "vitest"
import { atPlace } from "../../../src/layers/postgres/Login.ts"
import { databaseContent } from "../../support/dumps/content.ts"
import { directory, filesIn, makeDatabase, on, serverLogin } from "../../support/dumps/databases.ts"
import { everythingSql } from "../../support/rows/everythingDatabase.ts"
import { dump, place, restore } from "../../support/dumps/native.ts"

const rises = (seen: ReadonlyArray<number>) => {
  assert.deepStrictEqual(
    seen,
    [...new Set(seen)].sort((a, b) => a - b)
  )
  assert.strictEqual(seen.at(-1), 1)
}

describe.skipIf(place === undefined)("with the programs of SVC_TEST_PG_BIN", () => {
  it.live(
    "a restored database has everything of its source, under names of any kind",
    () =>
      Effect.gen(function* () {
        const source = yield* makeDatabase(`it's a "source" x=1 \\ ü`, "template template0", everythingSql)
        const target = yield* makeDatabase("dbname=target", "template template0")
        const path = yield* directory
        const file = join(path, "a b.dump")
        yield* dump(source, file)
        assert.deepStrictEqual(yield* filesIn(path), ["a b.dump"])
        assert.strictEqual((yield* Effect.promise(() => stat(file))).mode & 0o777, 0o600)
        yield* restore(file, target)
        const [expected, got] = yield* Effect.promise(() =>
          Promise.all([source, target].map((database) => databaseContent({ ...serverLogin(), database })))
        )
        assert.deepStrictEqual(got, expected)
        assert.isAbove(expected?.["rows"]?.length ?? 0, 5)
      }).pipe(Effect.scoped),
    60_000
  )

  it.live(
    "progress rises while a dump and a restore are under way",
    () =>
      Effect.gen(function* () {
        const source = yield* makeDatabase(
          "native progress",
          "template template0",
          "create table small as select 1 as n",
          "create table wide as select n, md5(n::text) || md5((n + 1)::text) as text from generate_series(1, 700000) n",
          "create index on wide (text)",
          "analyze wide"
        )
        const target = yield* makeDatabase("native progressed", "template template0")
        const file = join(yield* directory, "it.dump")
        const [dumping, restoring]: [Array<number>, Array<number>] = [[], []]
        yield* dump(source, file, serverLogin(), dumping)
        rises(dumping)
        assert.isAtLeast(dumping.length, 2, String(dumping))
        yield* restore(file, target, restoring)
        rises(restoring)
        assert.isAtLeast(restoring.length, 2, String(restoring))
        assert.deepStrictEqual(yield* on(target, "select count(*)::int from wide"), [{ count: 700_000 }])
      }).pipe(Effect.scoped),
    60_000
  )

  it.live("a failed dump reports why, without the password, and leaves nothing", () =>
    Effect.gen(function* () {
      const path = yield* directory
      const file = join(path, "it.dump")
      const { port } = serverLogin().at
      const wrong = {
        ...atPlace(serverLogin(), { host: "127.0.0.1", port }),
        password: Redacted.make("secret-but-wrong ü")
      }
      const refused = yield* Effect.flip(dump("postgres", file, wrong))
      assert.match(refused.reason, /password authentication failed for user "postgres"/)
      assert.notInclude(refused.reason, "secret-but-wrong")
      assert.match((yield* Effect.flip(dump("no such one", file))).reason, /database "no such one" does not exist/)
      const nowhere = atPlace(wrong, { host: "127.0.0.1", port: 1 })
      assert.match((yield* Effect.flip(dump("postgres", file, nowhere))).reason, /Connection refused/)
      assert.match((yield* Effect.flip(dump("postgres", join(path, "none", "it.dump")))).reason, /ENOENT/)
      assert.deepStrictEqual(yield* filesIn(path), [])
    }).pipe(Effect.scoped)
  )

  it.live("a failed restore names the object, and quotes no statement", () =>
    Effect.gen(function* () {
      const source = yield* makeDatabase(
        "native quoted",
        "template template0",
        "create extension postgres_fdw",
        "create server far foreign data wrapper postgres_fdw options (host 'elsewhere')",
        "create role native_mapped",
        "create user mapping for native_mapped server far options (user 'u', password 'their-secret')"
      )
      const target = yield* makeDatabase(
        "native taken",
        "template template0",
        "create extension postgres_fdw",
        "create server far foreign data wrapper postgres_fdw",
        "create user mapping for public server far"
      )
      const path = yield* directory
      const file = join(path, "it.dump")
      yield* dump(source, file)
      const { reason } = yield* Effect.flip(restore(file, target))
      assert.match(reason, /already exists .*, at: CREATE SERVER far FOREIGN DATA WRAPPER/)
      assert.notInclude(reason, "elsewhere")
      yield* on(target, "drop server far cascade")
      yield* on(source, "drop user mapping for native_mapped server far", "drop role native_mapped")
      const { reason: again } = yield* Effect.flip(restore(file, target))
      assert.match(again, /role "native_mapped" does not exist .*at: CREATE USER MAPPING FOR native_mapped/)
      assert.notInclude(again, "their-secret")

      yield* Effect.promise(() => writeFile(join(path, "not.dump"), "PGDMP nothing else"))
      assert.match((yield* Effect.flip(restore(join(path, "not.dump"), target))).reason, /read the archive: /)
      assert.match((yield* Effect.flip(restore(join(path, "none.dump"), target))).reason, /No such file/)
    }).pipe(Effect.scoped)
  )
})
