import { Effect, Layer } from "effect"
import { resolve } from "node:path"
import { secret, text } from "../../domain/Settings.ts"
import { layerEmbedded } from "./embedded/Embedded.ts"
import { directUrl, layerExternal, PostgresAddress } from "./Address.ts"
import { DataDir } from "../process/DataDir.ts"
import { refuseUnfinished } from "../process/UnfinishedImport.ts"
import { StartError } from "../process/StartError.ts"
import { layerEncryptionKeys, layerEncryptionKeysKept, layerJwtSecret, layerJwtSecretKept } from "../process/Secrets.ts"

/** Prints where other programs find the server. */
const layerAnnounced = Layer.effectDiscard(
  Effect.flatMap(PostgresAddress, ({ at: { port } }) =>
    Effect.logInfo(`PostgreSQL listens on 127.0.0.1:${port}; svc db-url prints its URL with the password`)
  )
).pipe(Layer.provideMerge(layerEmbedded))

/** DATABASE_URL; undefined: the embedded server is used. */
export const databaseUri = Effect.gen(function* () {
  const uri = yield* secret("DATABASE_URL")
  if (uri === undefined && (yield* directUrl) !== undefined) {
    return yield* new StartError({
      message:
        "DATABASE_DIRECT_URL is set, but DATABASE_URL is missing: set DATABASE_URL to the pooler's address, or to PostgreSQL's own, and then leave DATABASE_DIRECT_URL out"
    })
  }
  return uri
})

/**
 * Server and secrets of the installation: an embedded PostgreSQL with generated secrets in the data directory, or the
 * server of DATABASE_URL with secrets from settings only.
 */
export const layerInstallation = Layer.unwrap(
  Effect.gen(function* () {
    yield* refuseUnfinished(resolve(yield* text("SVC_DATA_DIR", ".svc")))
    const uri = yield* databaseUri
    return uri === undefined
      ? Layer.mergeAll(layerAnnounced, layerJwtSecretKept, layerEncryptionKeysKept).pipe(Layer.provide(DataDir.layer))
      : Layer.mergeAll(layerExternal(uri), layerJwtSecret, layerEncryptionKeys)
  })
)
