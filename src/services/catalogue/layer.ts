import { Layer } from "effect"
import { Catalogues } from "./Catalogues.ts"
import { WatchedTables } from "./WatchedTables.ts"

/** What the database contains: tables, relationships and functions. */
export const layer = Layer.mergeAll(Catalogues.layer, WatchedTables.layer)
