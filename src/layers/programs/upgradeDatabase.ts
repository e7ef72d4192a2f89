import { Effect, Layer, Logger } from "effect"
import { RecoverySettings } from "../../services/recovery/Settings.ts"
import { DataDir } from "../process/DataDir.ts"
import { printResult } from "../process/Output.ts"
import { upgradeDatabase } from "../upgrade/Upgrade.ts"

/** Standard output is for the result. */
const layerProgress = Logger.layer([Logger.withConsoleError(Logger.make(({ message }) => [message].flat().join(" ")))])

/** `svc upgrade-database`: the embedded PostgreSQL in the major version of this release. */
export const upgradeEmbedded = ({ download }: { readonly download: boolean }) =>
  upgradeDatabase(download).pipe(
    Effect.flatMap((upgraded) =>
      upgraded === undefined
        ? printResult("The data directory is of this version already", { upgraded: false })
        : printResult(upgraded.text, { upgraded: true, ...upgraded.result })
    ),
    Effect.provide(Layer.mergeAll(DataDir.layer, RecoverySettings.layer, layerProgress))
  )
