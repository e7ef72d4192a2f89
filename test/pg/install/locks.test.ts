import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { install } from "../../../src/layers/install/Install.ts"
import { layerOwnTables } from "../../../src/layers/postgres/Db.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"

/** The message with which another start on this database fails. */
const failure = (limits: { readonly lockMillis: number; readonly millis: number }) =>
  Effect.gen(function* () {
    const { login } = yield* Outside
    const ownTables = Layer.provide(layerOwnTables, Layer.succeed(PostgresAddress, login))
    const started = install({ serviceRole: login.user, schemas: ["public"] }, limits)
    return yield* Effect.match(Effect.provide(started, ownTables), {
      onFailure: (error) => String("message" in error ? error.message : error),
      onSuccess: () => "started"
    })
  })

layer(layerDatabase({ name: "install_locks" }), live)("a start behind a lock", (it) => {
  it.effect.each([
    "lock table svc.settings in access exclusive mode",
    "lock table svc.migrations in access exclusive mode",
    "lock table pg_catalog.pg_event_trigger in access exclusive mode"
  ])("fails soon, and names the session that holds it: %s", (statement) =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const limits = { lockMillis: 200, millis: 10_000 }
      assert.strictEqual(yield* failure(limits), "started")
      yield* sql("begin")
      yield* sql(statement)
      const [{ pid } = {}] = yield* sql("select pg_backend_pid() as pid")
      const message = yield* failure(limits)
      assert.include(message, `process ${pid} (`)
      assert.include(message, "idle in transaction")
      assert.include(message, "pg_terminate_backend")
      yield* sql("rollback")
      assert.strictEqual(yield* failure(limits), "started")
    })
  )

  it.effect("ends in any case, also where no lock timeout applies", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("begin")
      yield* sql("lock table svc.settings in access exclusive mode")
      const message = yield* failure({ lockMillis: 60_000, millis: 1_000 })
      assert.match(message, /within 1 s.*pg_locks.*start the service again/)
      yield* sql("rollback")
      assert.strictEqual(yield* failure({ lockMillis: 200, millis: 10_000 }), "started")
    })
  )
})
