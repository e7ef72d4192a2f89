import { Effect, Layer } from "effect"
import { secret } from "../../domain/Settings.ts"
import { layerEmbedded } from "../postgres/embedded/Embedded.ts"
import { layerExternal, PostgresAddress } from "../postgres/Address.ts"
import { DataDir } from "../process/DataDir.ts"
import { layerEncryptionKeys, layerEncryptionKeysKept, layerJwtSecret, layerJwtSecretKept } from "../process/Secrets.ts"

/** Says where other programs find the server. */
const layerAnnounced = Layer.effectDiscard(
  Effect.flatMap(PostgresAddress, ({ port }) =>
    Effect.logInfo(`PostgreSQL listens on 127.0.0.1:${port}; npm run --silent db:url prints its URL with the password`)
  )
).pipe(Layer.provideMerge(layerEmbedded))

/**
 * Server and secrets of the installation: an embedded PostgreSQL with generated secrets in the data directory, or the
 * server of DATABASE_URL with secrets from settings only.
 */
export const layer = Layer.unwrap(
  Effect.map(secret("DATABASE_URL"), (uri) =>
    uri === undefined
      ? Layer.mergeAll(layerAnnounced, layerJwtSecretKept, layerEncryptionKeysKept).pipe(Layer.provide(DataDir.layer))
      : Layer.mergeAll(layerExternal(uri), layerJwtSecret, layerEncryptionKeys)
  )
)
