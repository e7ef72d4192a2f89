import { Layer } from "effect"
import { Keys } from "./Keys.ts"
import { RateLimits } from "./RateLimits.ts"

/** API keys and their rate limits. */
export const layer = Layer.mergeAll(Keys.layer, RateLimits.layer)
