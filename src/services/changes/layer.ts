import { Layer } from "effect"
import { ChangeTables } from "./Tables.ts"
import { WatchedTables } from "./WatchedTables.ts"

/** The tables whose rows are watched, and where their changes come from. */
export const layer = ChangeTables.layer.pipe(Layer.provideMerge(WatchedTables.layer))
