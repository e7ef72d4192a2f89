import { Clock, Effect, type Scope } from "effect"
import { type FlagdTrouble } from "./FlagdClient.ts"

/** A time in which flagd does not evaluate, or not by the rules that are stored. */
export interface FlagdOutage {
  readonly ongoing: () => boolean
  /** Says so in the log and watches flagd until it is over; nothing when that is being done already. */
  readonly begin: (trouble: FlagdTrouble) => Effect.Effect<void>
}

/** How often it is looked whether flagd is back, in ms. */
const lookMillis = 1_000

/** `isCurrent`: whether flagd answers, by what is stored now. */
export const makeOutage = (
  address: string,
  fallback: boolean,
  isCurrent: Effect.Effect<boolean, FlagdTrouble>
): Effect.Effect<FlagdOutage, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const clock = yield* Clock.Clock
    let ongoing = false

    const back: Effect.Effect<void> = Effect.delay(
      Effect.orElseSucceed(isCurrent, () => false),
      lookMillis
    ).pipe(Effect.flatMap((current) => (current ? Effect.void : back)))

    const watch = (since: number) =>
      Effect.flatMap(back, () => {
        ongoing = false
        const seconds = Math.round((clock.currentTimeMillisUnsafe() - since) / 1000)
        const then = fallback ? " and evaluates" : ""
        return Effect.logInfo(`flagd at ${address} is well again${then}, after ${seconds} s`)
      })

    return {
      ongoing: () => ongoing,
      begin: ({ cause, message }) =>
        Effect.suspend(() => {
          if (ongoing) return Effect.void
          ongoing = true
          const then = fallback ? "; flags are evaluated here until it is back" : ""
          return Effect.andThen(
            Effect.logWarning(`flagd at ${address} is in trouble: ${message} (${cause})${then}`),
            Effect.forkIn(watch(clock.currentTimeMillisUnsafe()), scope)
          )
        })
    }
  })
