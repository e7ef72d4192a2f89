import { Layer } from "effect"
import { BackupCopies } from "./BackupCopies.ts"
import { BackupRecords } from "./BackupRecords.ts"
import { BackupRemoval } from "./BackupRemoval.ts"
import { BackupRestores } from "./BackupRestores.ts"
import { BackupRuns } from "./BackupRuns.ts"
import { Backups } from "./Backups.ts"
import { layerBackupSchedule } from "./BackupSchedule.ts"
import { BackupSources } from "./BackupSources.ts"
import { BackupTurns } from "./BackupTurns.ts"
import { layerBackupUpkeep } from "./BackupUpkeep.ts"

/** `Backups`, and what goes on in the background. */
export const layerBackups = Layer.mergeAll(Backups.layer, layerBackupSchedule, layerBackupUpkeep).pipe(
  Layer.provide(Layer.mergeAll(BackupRemoval.layer, BackupRestores.layer)),
  Layer.provide(Layer.mergeAll(BackupRuns.layer, BackupSources.layer)),
  Layer.provide(Layer.mergeAll(BackupCopies.layer, BackupTurns.layer, BackupRecords.layer))
)
