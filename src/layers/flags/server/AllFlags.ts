import { setImmediate } from "node:timers/promises"
import { type FlagContext, type FlagResult } from "../../../domain/flags/Evaluation.ts"
import { type FlagSet } from "../../../domain/flags/sets/Set.ts"

/** Time after which the evaluation yields to the event loop, in ms. */
const sliceMillis = 10

/**
 * `set.evaluateAll`, yielding to the event loop: a set may have ten thousand flags, each of which may read a context of a
 * megabyte. All results are of one version.
 */
export const allFlags = async (
  set: FlagSet,
  context: FlagContext,
  nowMillis: number
): Promise<ReadonlyArray<FlagResult>> => {
  const results: Array<FlagResult> = []
  let sliceStart = performance.now()
  for (const key of set.flags.keys()) {
    results.push(set.evaluate(key, context, nowMillis))
    if (performance.now() - sliceStart < sliceMillis) continue
    await setImmediate()
    sliceStart = performance.now()
  }
  return results
}
