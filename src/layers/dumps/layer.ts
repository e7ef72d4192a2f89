import { Layer } from "effect"
import { layerBackupDirectory } from "./BackupDirectory.ts"
import { layerDumpToolsFound } from "./ToolsFound.ts"

/** The tools that dump and restore a database, and the directory of the dumps. */
export const layer = Layer.mergeAll(layerBackupDirectory, layerDumpToolsFound)
