import { Layer } from "effect"
import { Backups } from "./Backups.ts"
import { layerBackupUpkeep } from "./Upkeep.ts"

/** Backups and restores, their schedule and retention. */
export const layer = Layer.mergeAll(Backups.layer, layerBackupUpkeep)
