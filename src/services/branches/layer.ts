import { Layer } from "effect"
import { Branches } from "./Branches.ts"
import { layerBranchUpkeep } from "./Upkeep.ts"

/** Copies of the database, and the removal of expired ones. */
export const layer = layerBranchUpkeep.pipe(Layer.provideMerge(Branches.layer))
