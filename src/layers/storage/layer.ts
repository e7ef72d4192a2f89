import { Effect, Layer } from "effect"
import { text } from "../../domain/Settings.ts"
import { DataDir } from "../process/DataDir.ts"
import { layerExternalS3 } from "./Address.ts"
import { layerObjectStore } from "./client/ObjectStore.ts"
import { layerEmbeddedS3 } from "./Embedded.ts"

/** The object store of S3_ENDPOINT, or an embedded S3 endpoint. */
export const layer = layerObjectStore.pipe(
  Layer.provideMerge(
    Layer.unwrap(
      Effect.map(text("S3_ENDPOINT", undefined), (endpoint) =>
        endpoint === undefined ? layerEmbeddedS3.pipe(Layer.provide(DataDir.layer)) : layerExternalS3
      )
    )
  )
)
