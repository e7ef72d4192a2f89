import { Effect, Layer } from "effect"
import { text } from "../../domain/Settings.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { DataDir } from "../process/DataDir.ts"
import { layerMainDatabase } from "../postgres/MainDatabase.ts"
import { layerExternalS3 } from "../storage/Address.ts"
import { layerEmbeddedS3AttachOrStart } from "../storage/Embedded.ts"

/** Database, store and data directory of an installation, whether the service runs or not. */
export const layerMovable = Layer.mergeAll(
  layerMainDatabase,
  Layer.unwrap(
    Effect.map(text("S3_ENDPOINT", undefined), (endpoint) =>
      endpoint === undefined ? layerEmbeddedS3AttachOrStart : layerExternalS3
    )
  ),
  BackupSettings.layer
).pipe(Layer.provideMerge(DataDir.layer))
