import { Layer } from "effect"
import { layerBackupDirectory } from "./BackupDirectory.ts"
import { layerDumpToolsFound } from "./ToolsFound.ts"

/** What dumps and restores a database, and where the dumps are kept. */
export const layer = Layer.mergeAll(layerBackupDirectory, layerDumpToolsFound)
