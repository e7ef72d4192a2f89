import { Layer } from "effect"
import { EnvironmentBuckets } from "./Buckets.ts"
import { Environments } from "./Environments.ts"
import { EnvironmentTurns } from "./Turns.ts"

/** Environments: a schema and a bucket each. */
export const layer = Environments.layer.pipe(
  Layer.provide(Layer.mergeAll(EnvironmentBuckets.layer, EnvironmentTurns.layer))
)
