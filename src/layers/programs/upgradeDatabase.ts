import { Effect, Layer } from "effect"
import { RecoverySettings } from "../../services/recovery/Settings.ts"
import { DataDir } from "../process/DataDir.ts"
import { layerLogs } from "../process/Logs.ts"
import { upgradeDatabase } from "../upgrade/Upgrade.ts"

/** `svc upgrade-database`: the embedded PostgreSQL in the major version of this release. */
export const upgradeEmbedded = ({ download }: { readonly download: boolean }) =>
  upgradeDatabase(download).pipe(
    Effect.flatMap((upgraded) =>
      upgraded ? Effect.void : Effect.logInfo("The data directory is of this version already")
    ),
    Effect.provide(Layer.mergeAll(DataDir.layer, RecoverySettings.layer, layerLogs))
  )
