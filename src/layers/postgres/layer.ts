import { Layer } from "effect"
import { layerDb, layerOwnTables } from "./Db.ts"
import { layerListener } from "./Listener.ts"

/** The ports of PostgreSQL, on the server that `layers/install/layer.ts` chooses. */
export const layer = layerDb.pipe(Layer.provideMerge(Layer.mergeAll(layerOwnTables, layerListener)))
