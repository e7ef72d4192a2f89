import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { tryAdvisoryLocks, withAdvisoryLocks } from "../../../src/services/AdvisoryLock.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"

const options = { patience: 200, pause: 20, busy: "busy" as const }

const suite = layer(layerDatabase({ name: "advisory_lock" }), live)

suite("advisory locks", (it) => {
  const held = Effect.flatMap(Outside, ({ sql }) =>
    Effect.map(
      sql(
        `select objid::int as lock from pg_locks where locktype = 'advisory' and granted
           and database = (select oid from pg_database where datname = current_database()) order by 1`
      ),
      (rows) => rows.map(({ lock }) => lock)
    )
  )

  it.effect("are held until the effect ends, fails or is interrupted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const locked = withAdvisoryLocks(sql, ["1", "2"], options)
      assert.deepStrictEqual(yield* locked(held), [1, 2])
      assert.deepStrictEqual(yield* held, [])
      assert.strictEqual(yield* Effect.flip(locked(Effect.fail("failed" as const))), "failed")
      const running = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(locked(Effect.andThen(Deferred.succeed(running, undefined), Effect.never)))
      yield* Deferred.await(running)
      assert.deepStrictEqual(yield* held, [1, 2])
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* held, [])
    })
  )

  it.effect("are waited for until the timeout, without keeping some of several", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ran: Array<string> = []
      const go = yield* Deferred.make<void>()
      const first = yield* Effect.forkChild(withAdvisoryLocks(sql, ["2"], options)(Deferred.await(go)))
      yield* Effect.sleep("50 millis")
      const refused = withAdvisoryLocks(sql, ["1", "2"], options)(Effect.sync(() => ran.push("refused")))
      assert.strictEqual(yield* Effect.flip(refused), "busy")
      assert.deepStrictEqual(yield* held, [2])
      const patient = withAdvisoryLocks(sql, ["1", "2"], { ...options, patience: 10_000 })
      const waiting = yield* Effect.forkChild(patient(Effect.sync(() => ran.push("waited"))))
      yield* Effect.sleep("50 millis")
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(first)
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(ran, ["waited"])
      assert.deepStrictEqual(yield* held, [])
    })
  )

  it.effect("can be shared, and tried once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const shared = tryAdvisoryLocks(sql, ["3"], { shared: true })
      yield* Effect.scoped(
        Effect.gen(function* () {
          assert.isDefined(yield* shared)
          assert.isDefined(yield* shared)
          assert.isUndefined(yield* tryAdvisoryLocks(sql, ["3"]))
        })
      )
      assert.isDefined(yield* Effect.scoped(tryAdvisoryLocks(sql, ["3"])))
    })
  )
})
