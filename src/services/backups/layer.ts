import { Layer } from "effect"
import { Backups } from "./Backups.ts"
import { layerBackupUpkeep } from "./Upkeep.ts"

/** Backups, their schedule and their upkeep. */
export const layerBackups = Layer.mergeAll(Backups.layer, layerBackupUpkeep)
