import { Layer } from "effect"
import { ForeignData } from "./ForeignData.ts"
import { ForeignImports } from "./Imports.ts"

/** Tables of other databases. */
export const layer = Layer.mergeAll(ForeignData.layer, ForeignImports.layer)
