import { Layer } from "effect"
import { ChangeTables } from "../changes/Tables.ts"
import { Catalogues } from "./Catalogues.ts"
import { WatchedTables } from "./WatchedTables.ts"

/** What the database contains: tables, relationships and functions. */
export const layer = Layer.mergeAll(Catalogues.layer, ChangeTables.layer.pipe(Layer.provideMerge(WatchedTables.layer)))
