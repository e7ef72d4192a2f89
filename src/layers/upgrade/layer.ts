import { Effect, Layer } from "effect"
import { secret } from "../../domain/Settings.ts"
import { RecoverySettings } from "../../services/recovery/Settings.ts"
import { findCluster } from "../postgres/embedded/Cluster.ts"
import { DataDir } from "../process/DataDir.ts"
import { upgradeAtStart } from "./Settings.ts"
import { upgradeDatabase } from "./Upgrade.ts"

/**
 * Upgrades the embedded PostgreSQL before it is started, if SVC_PG_UPGRADE allows it. By default the start refuses an older
 * data directory: an upgrade takes minutes, in which a supervisor may end the process, and there is no way back for what is
 * written after it.
 */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const allowed = yield* upgradeAtStart
    if (allowed === "off" || (yield* secret("DATABASE_URL")) !== undefined) return
    // With a database of one's own there may be no data directory.
    yield* upgradeIfOlder(allowed === "download").pipe(
      Effect.provide(Layer.mergeAll(DataDir.layer, RecoverySettings.layer))
    )
  })
)

const upgradeIfOlder = Effect.fnUntraced(function* (download: boolean) {
  if ((yield* findCluster(yield* DataDir)) === undefined) return
  const upgraded = yield* upgradeDatabase(download)
  if (upgraded !== undefined) yield* Effect.logInfo(upgraded.text)
})
