import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { keyHashOf, type KeyType, makeRawKey, prefixOf } from "../../domain/access/ApiKey.ts"
import { layerMainDatabase } from "../postgres/MainDatabase.ts"
import { layerDb, layerOwnTables } from "../postgres/Db.ts"
import { printResult } from "../process/Output.ts"
import { layerServerCheck } from "../postgres/servers/ServerCheck.ts"
import { byService, insertAudit } from "../../services/audit/Change.ts"
import { Db } from "../../services/ports/Db.ts"
import { ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"

const Database = layerDb.pipe(
  Layer.provideMerge(Layer.mergeAll(layerOwnTables, ExposedSchemas.layer)),
  Layer.provide(layerServerCheck),
  Layer.provide(layerMainDatabase)
)

interface NewKey {
  readonly type: KeyType
  readonly label: string
}

/**
 * `svc key`: creates a key directly in the database, for operators who have lost theirs. Works whether the service is running
 * or not.
 */
export const createKey = Effect.fnUntraced(function* ({ label, type }: NewKey) {
  yield* Db // makes sure that the schema is installed
  const sql = yield* SqlClient.SqlClient
  const raw = makeRawKey(type)
  const row = { key_type: type, key_prefix: prefixOf(raw), key_hash: keyHashOf(raw), label }
  const id = yield* sql.withTransaction(
    Effect.gen(function* () {
      const [made] = yield* sql<{ readonly id: number }>`insert into svc.api_keys ${sql.insert(row)} returning id`
      const after = { key_type: type, label, rate_limit: null, revoked: false }
      yield* insertAudit(sql, { ...byService("svc key", "key.create"), subject: `key:${made?.id}`, after })
      return made?.id
    })
  )
  yield* printResult(raw, { id, type, label, key: raw })
}, Effect.provide(Database))
