import { Layer } from "effect"
import { BackupCopies } from "./Copies.ts"
import { BackupRecords } from "./Records.ts"
import { BackupRemoval } from "./Removal.ts"
import { BackupRestores } from "./Restores.ts"
import { BackupRuns } from "./Runs.ts"
import { Backups } from "./Backups.ts"
import { layerBackupSchedule } from "./Schedule.ts"
import { BackupSources } from "./Sources.ts"
import { BackupTurns } from "./Turns.ts"
import { layerBackupUpkeep } from "./Upkeep.ts"

/** Backups and restores, their schedule and retention. */
export const layer = Layer.mergeAll(Backups.layer, layerBackupSchedule, layerBackupUpkeep).pipe(
  Layer.provide(Layer.mergeAll(BackupRemoval.layer, BackupRestores.layer)),
  Layer.provide(Layer.mergeAll(BackupRuns.layer, BackupSources.layer)),
  Layer.provide(Layer.mergeAll(BackupCopies.layer, BackupTurns.layer, BackupRecords.layer))
)
