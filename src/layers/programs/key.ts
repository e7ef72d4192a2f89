import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Console, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { keyHashOf, KeyType, makeRawKey, prefixOf } from "../../domain/access/ApiKey.ts"
import { layerMainDatabase } from "../postgres/MainDatabase.ts"
import { layerDb, layerOwnTables } from "../postgres/Db.ts"
import { layerServerCheck } from "../postgres/servers/ServerCheck.ts"
import { startFailure } from "../process/StartError.ts"
import { byService, insertAudit } from "../../services/audit/Change.ts"
import { Db } from "../../services/ports/Db.ts"
import { ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"

/**
 * `npm run key -- <anon|service_role> ["label"]`: creates a key directly in the database, for operators who have lost
 * theirs. Works whether the service is running or not.
 */
const makeKey = Effect.gen(function* () {
  const [type, label = ""] = process.argv.slice(2)
  if (!Schema.is(KeyType)(type) || label.length > 100) {
    yield* Console.error('Usage: npm run key -- <anon|service_role> ["label of up to 100 characters"]')
    process.exitCode = 2
    return
  }
  yield* Db // makes sure that the schema is installed
  const sql = yield* SqlClient.SqlClient
  const raw = makeRawKey(type)
  const row = { key_type: type, key_prefix: prefixOf(raw), key_hash: keyHashOf(raw), label }
  yield* sql.withTransaction(
    Effect.gen(function* () {
      const [made] = yield* sql<{ readonly id: number }>`insert into svc.api_keys ${sql.insert(row)} returning id`
      const after = { key_type: type, label, rate_limit: null, revoked: false }
      yield* insertAudit(sql, { ...byService("npm run key", "key.create"), subject: `key:${made?.id}`, after })
    })
  )
  yield* Console.log(raw)
})

const Database = layerDb.pipe(
  Layer.provideMerge(Layer.mergeAll(layerOwnTables, ExposedSchemas.layer)),
  Layer.provide(layerServerCheck),
  Layer.provide(layerMainDatabase)
)

makeKey.pipe(
  Effect.provide(Database),
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Console.error(startFailure(cause)))),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
