import { Layer } from "effect"
import { ForeignData } from "./ForeignData.ts"
import { ForeignImports } from "./Imports.ts"
import { ForeignSessions } from "./Sessions.ts"

/** Tables of other databases. */
export const layer = Layer.mergeAll(ForeignData.layer, ForeignImports.layer).pipe(Layer.provide(ForeignSessions.layer))
