import { Layer } from "effect"
import { FlagEvaluations, layerFlagUsage } from "./Evaluations.ts"
import { Flags } from "./Flags.ts"
import { FlagHistory } from "./History.ts"
import { FlagSegments } from "./Segments.ts"
import { FlagSets } from "./Sets.ts"
import { FlagWriter } from "./Writer.ts"

/** Feature flags, their segments, history and evaluation. */
export const layer = Layer.mergeAll(Flags.layer, FlagSegments.layer).pipe(
  Layer.provide(FlagWriter.layer),
  Layer.provideMerge(Layer.mergeAll(FlagHistory.layer, FlagEvaluations.layer, layerFlagUsage)),
  Layer.provideMerge(FlagSets.layer)
)
