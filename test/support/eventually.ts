import { Effect, Schedule } from "effect"

/** Retries until `good`; dies after `millis`. */
export const eventually = <A, E, R>(ask: Effect.Effect<A, E, R>, good: (answer: A) => boolean, millis = 10_000) =>
  ask.pipe(
    Effect.filterOrFail(good, (answer) => answer),
    Effect.retry(Schedule.max([Schedule.spaced("25 millis"), Schedule.recurs(Math.ceil(millis / 25))])),
    Effect.orDie
  )
