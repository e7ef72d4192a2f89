import { Layer } from "effect"
import { Keys } from "./Keys.ts"
import { RateLimits } from "./RateLimits.ts"
import { Turns } from "./Turns.ts"

/** API keys, their rate limits, and the turns of clients. */
export const layer = Layer.mergeAll(Keys.layer, RateLimits.layer, Turns.layer)
