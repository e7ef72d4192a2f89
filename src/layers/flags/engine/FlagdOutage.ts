import { Clock, Effect, type Scope } from "effect"
import { type FlagdFailure } from "./FlagdClient.ts"

/** A period in which flagd does not evaluate, or evaluates outdated rules. */
export interface FlagdOutage {
  readonly ongoing: () => boolean
  /** Logs the failure and polls flagd until it has recovered; no effect during an outage. */
  readonly begin: (failure: FlagdFailure) => Effect.Effect<void>
}

/** Pause between two polls, in ms. */
const pollMillis = 1_000

/** `isCurrent`: whether flagd evaluates the current rules. */
export const makeOutage = (
  address: string,
  fallback: boolean,
  isCurrent: Effect.Effect<boolean, FlagdFailure>
): Effect.Effect<FlagdOutage, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const clock = yield* Clock.Clock
    let ongoing = false

    const recovered: Effect.Effect<void> = Effect.delay(
      Effect.orElseSucceed(isCurrent, () => false),
      pollMillis
    ).pipe(Effect.flatMap((current) => (current ? Effect.void : recovered)))

    const watch = (since: number) =>
      Effect.flatMap(recovered, () => {
        ongoing = false
        const seconds = Math.round((clock.currentTimeMillisUnsafe() - since) / 1000)
        return Effect.logInfo(`flagd at ${address} recovered after ${seconds} s`)
      })

    return {
      ongoing: () => ongoing,
      begin: ({ cause, message }) =>
        Effect.suspend(() => {
          if (ongoing) return Effect.void
          ongoing = true
          const suffix = fallback ? "; this process evaluates flags until it recovers" : ""
          return Effect.andThen(
            Effect.logWarning(`flagd at ${address} failed: ${message} (${cause})${suffix}`),
            Effect.forkIn(watch(clock.currentTimeMillisUnsafe()), scope)
          )
        })
    }
  })
