import { Layer } from "effect"
import { Functions } from "./Functions.ts"
import { Imports } from "./Imports.ts"
import { RowMethods } from "./Methods.ts"
import { Rows } from "./Rows.ts"

/** Rows of tables and views, and stored functions. */
export const layer = Layer.mergeAll(Rows.layer, RowMethods.layer, Functions.layer, Imports.layer)
