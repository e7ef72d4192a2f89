import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { chmod, mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe } from "vitest"
import { dumpNative } from "../../../src/layers/dumps/native/Native.ts"
import { layerProcesses } from "../../../src/layers/dumps/native/Process.ts"
import { type Programs } from "../../../src/layers/dumps/native/Programs.ts"
import {
  directory,
  filesIn,
  lockTable,
  makeDatabase,
  on,
  serverLogin,
  wideTable
} from "../../support/dumps/databases.ts"
import { dump, options, place, processes, restore, sessions } from "../../support/dumps/native.ts"
import { eventually } from "../../support/eventually.ts"

describe.skipIf(place === undefined)("with the programs of SVC_TEST_PG_BIN", () => {
  it.live("a dump that is interrupted or times out ends at once, with its session and its file", () =>
    Effect.gen(function* () {
      const source = yield* makeDatabase("native waiting", "template template0", "create table locked (n int)")
      const path = yield* directory
      const file = join(path, "it.dump")
      yield* on(source, "create table held (n int)")
      const holding = yield* Effect.forkChild(
        on(source, "begin", "lock table locked in access exclusive mode", "select pg_sleep(20)")
      )
      const waiting = eventually(
        sessions(source),
        (rows) => rows.length === 1 && String(rows[0]?.["query"]).startsWith("LOCK TABLE")
      )
      yield* eventually(
        on(source, "select from pg_locks where mode = 'AccessExclusiveLock'"),
        (rows) => rows.length > 0
      )

      const dumping = yield* Effect.forkChild(dump(source, file))
      yield* waiting
      assert.deepStrictEqual(yield* filesIn(path), ["it.dump.partial"])
      const from = performance.now()
      yield* Fiber.interrupt(dumping)
      assert.isBelow(performance.now() - from, 3_000)
      assert.deepStrictEqual(yield* filesIn(path), [])
      assert.deepStrictEqual(processes(file), [])
      yield* eventually(sessions(source), (rows) => rows.length === 0)

      const { reason } = yield* Effect.flip(dump(source, file, serverLogin(), [], { timeout: 1_000 }))
      assert.match(reason, /over 1 s/)
      assert.deepStrictEqual(yield* filesIn(path), [])
      yield* Fiber.interrupt(holding)
    }).pipe(Effect.scoped)
  )

  it.live(
    "a dump or restore whose session is terminated fails, and an interrupted restore leaves no session",
    () =>
      Effect.gen(function* () {
        const source = yield* makeDatabase("native killed", "template template0", wideTable)
        const path = yield* directory
        const [file, other] = [join(path, "it.dump"), join(path, "other.dump")]
        yield* dump(source, file)
        const end = (database: string) =>
          on(
            "postgres",
            `select pg_terminate_backend(pid) from pg_stat_activity where application_name ~ '^svc (dump|restore)' and datname = '${database}'`
          )

        const { reason } = yield* Effect.scoped(
          Effect.gen(function* () {
            yield* lockTable(source, "wide")
            const dumping = yield* Effect.forkChild(Effect.flip(dump(source, other)))
            yield* eventually(end(source), (rows) => rows.length > 0)
            return yield* Fiber.join(dumping)
          })
        )
        assert.match(reason, /terminat|closed the connection|SSL|fail/i)
        assert.deepStrictEqual(yield* filesIn(path), ["it.dump"])

        // A slow index, so that the restore can be interrupted.
        yield* on(
          source,
          "create function slowly(int) returns int language plpgsql immutable as 'begin perform pg_sleep(0.01); return $1; end'"
        )
        yield* on(
          source,
          "create table indexed as select n from generate_series(1, 10) n",
          "create index on indexed (slowly(n))"
        )
        yield* on(source, "insert into indexed select n from generate_series(1, 100) n")
        yield* on(
          source,
          "create or replace function slowly(int) returns int language plpgsql immutable as 'begin perform pg_sleep(1); return $1; end'"
        )
        yield* dump(source, other)
        const target = yield* makeDatabase("native broken", "template template0")
        const restoring = yield* Effect.forkChild(restore(other, target))
        yield* eventually(sessions(target), (rows) =>
          rows.some(({ query }) => String(query).startsWith("CREATE INDEX"))
        )
        const from = performance.now()
        yield* Fiber.interrupt(restoring)
        assert.isBelow(performance.now() - from, 6_500)
        assert.deepStrictEqual(processes(other), [])
        yield* eventually(sessions(target), (rows) => rows.length === 0)
      }).pipe(Effect.scoped),
    60_000
  )
})

it.live("a program that ignores SIGTERM is killed", () =>
  Effect.gen(function* () {
    const path = yield* directory
    const stubborn = join(path, "bin", "pg_dump")
    yield* Effect.promise(async () => {
      await mkdir(join(path, "bin"))
      await writeFile(
        stubborn,
        `#!/bin/sh\ntrap '' TERM\necho "pg_dump: reading schemas" >&2\nwhile :; do sleep 1; done\n`
      )
      await chmod(stubborn, 0o755)
    })
    const fake: Programs = {
      directory: path,
      dump: stubborn,
      restore: stubborn,
      version: "99.1",
      major: 99,
      minor: 1,
      zstd: false,
      tls: true
    }
    const file = join(path, "it.dump")
    const dumping = yield* Effect.forkChild(
      dumpNative(fake, serverLogin(), options)("postgres", file, () => Effect.void).pipe(Effect.provide(layerProcesses))
    )
    yield* eventually(
      Effect.sync(() => processes(stubborn)),
      (lines) => lines.length > 0
    )
    yield* Fiber.interrupt(dumping)
    assert.deepStrictEqual(processes(stubborn), [])
    assert.deepStrictEqual(yield* filesIn(path), ["bin"])
  }).pipe(Effect.scoped)
)
