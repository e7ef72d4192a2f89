import { Deferred, Effect } from "effect"

interface Runs<A, E> {
  /** The run that follows, for callers that came during the current one, which may not include their changes. */
  next: Deferred.Deferred<A, E> | undefined
}

/**
 * Runs costly work that is the same for all callers of a key once for many of them. A caller never gets the result of a
 * run that began before it came: one run is in progress at most, and all that come meanwhile share the next.
 */
export const makeSharedRuns = <A, E>() =>
  Effect.map(Effect.scope, (scope) => {
    const running = new Map<string, Runs<A, E>>()

    const start = (key: string, runs: Runs<A, E>, run: Effect.Effect<A, E>, done: Deferred.Deferred<A, E>) => {
      const ended: Effect.Effect<void> = Effect.flatMap(Effect.exit(run), (exit) =>
        Effect.suspend(() => {
          const { next } = runs
          runs.next = undefined
          if (next === undefined) running.delete(key)
          const following = next === undefined ? Effect.void : start(key, runs, run, next)
          return Effect.andThen(Deferred.done(done, exit), following)
        })
      )
      return Effect.asVoid(Effect.forkIn(ended, scope))
    }

    return (key: string, run: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.suspend(() => {
        const runs = running.get(key)
        if (runs !== undefined) return Deferred.await((runs.next ??= Deferred.makeUnsafe<A, E>()))
        const begun: Runs<A, E> = { next: undefined }
        running.set(key, begun)
        const done = Deferred.makeUnsafe<A, E>()
        return Effect.andThen(start(key, begun, run, done), Deferred.await(done))
      })
  })
