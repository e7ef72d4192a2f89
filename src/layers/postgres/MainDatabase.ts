import { Effect, Layer } from "effect"
import { secret } from "../../domain/Settings.ts"
import { layerExternal, type PostgresAddress } from "./Address.ts"
import { layerAttachOrStart } from "./embedded/Embedded.ts"
import { DataDir } from "../process/DataDir.ts"

/**
 * The database for programs: the server of DATABASE_URL, or the embedded one, which is started if the service does not
 * run.
 */
export const layerMainDatabase: Layer.Layer<PostgresAddress, unknown> = Layer.unwrap(
  Effect.map(secret("DATABASE_URL"), (uri) =>
    uri === undefined ? layerAttachOrStart.pipe(Layer.provide(DataDir.layer)) : layerExternal(uri)
  )
)
