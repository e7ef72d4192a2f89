import { setImmediate } from "node:timers/promises"
import { type FlagContext, type FlagResult } from "../../../domain/flags/Evaluation.ts"
import { type FlagSet } from "../../../domain/flags/sets/Set.ts"

/** How long evaluating goes on before everything else gets its turn, in ms. */
const turnMillis = 10

/**
 * `set.evaluateAll`, in turns: a set may have ten thousand flags, and a context a megabyte that each of them reads. The
 * answer is of one version all the same.
 */
export const allFlags = async (
  set: FlagSet,
  context: FlagContext,
  nowMillis: number
): Promise<ReadonlyArray<FlagResult>> => {
  const results: Array<FlagResult> = []
  let turn = performance.now()
  for (const key of set.flags.keys()) {
    results.push(set.evaluate(key, context, nowMillis))
    if (performance.now() - turn < turnMillis) continue
    await setImmediate()
    turn = performance.now()
  }
  return results
}
