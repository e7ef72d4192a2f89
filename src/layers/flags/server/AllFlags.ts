import { Effect } from "effect"
import { type FlagContext, type FlagResult } from "../../../domain/flags/Evaluation.ts"
import { type FlagSet } from "../../../domain/flags/sets/Set.ts"
import { yieldEvery } from "../../../services/YieldEvery.ts"

/**
 * `set.evaluateAll`, yielding to the event loop every 10 ms: a set may have ten thousand flags, and a context a megabyte
 * that each of them reads. All results are of one version of the set.
 */
export const allFlags = (set: FlagSet, context: FlagContext, nowMillis: number): Promise<ReadonlyArray<FlagResult>> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const results: Array<FlagResult> = []
      const pause = yield* yieldEvery(10)
      for (const key of set.flags.keys()) {
        results.push(set.evaluate(key, context, nowMillis))
        yield* pause
      }
      return results
    })
  )
