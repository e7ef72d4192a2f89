import { Code, ConnectError } from "@connectrpc/connect"
import { Effect } from "effect"
import { type FlagEnvironment, selectFlags } from "../../../domain/flags/Environment.ts"
import { type FlagContext, type FlagResult } from "../../../domain/flags/Evaluation.ts"
import { type FlagSet } from "../../../domain/flags/sets/Set.ts"
import { yieldEvery } from "../../../services/LoopTurn.ts"
import { type FlagFeed } from "./Feed.ts"

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

/** The dependencies of the protocols. */
export interface FlagService {
  readonly feed: FlagFeed
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly current: (environment: FlagEnvironment) => FlagSet
  /** The default environment of requests. */
  readonly environment: FlagEnvironment
  /** Whether sync sends the version of a flag set, by which this process detects what a flagd has loaded. */
  readonly versioned: boolean
}

/** The selected environment; "none" for an unknown one. Throws INVALID_ARGUMENT for an invalid selector. */
export const selected = ({ environment }: FlagService, headers: Headers, field?: string): FlagEnvironment | "none" => {
  const selection = selectFlags(headers.get("flagd-selector") ?? field, environment)
  if (typeof selection === "object") throw new ConnectError(selection.problem, Code.InvalidArgument)
  return selection
}

/** The flags of the selected environment; undefined for an unknown one. */
export const flagsOf = (service: FlagService, headers: Headers) => {
  const environment = selected(service, headers)
  return environment === "none" ? undefined : service.current(environment)
}
