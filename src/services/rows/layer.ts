import { Layer } from "effect"
import { Functions } from "./Functions.ts"
import { Imports } from "./Imports.ts"
import { RowMethods } from "./Methods.ts"
import { Rows } from "./Rows.ts"
import { warmUp } from "./WarmUp.ts"

/** Rows of tables and views, and stored functions. */
export const layer = Layer.mergeAll(Rows.layer, RowMethods.layer, Functions.layer, Imports.layer)

/** Warms the row path, while the other parts are built. */
export const layerWarm = Layer.effectDiscard(warmUp).pipe(Layer.provide(Rows.layer))
