import { Context, Effect, Layer, type Scope, Semaphore } from "effect"
import { Unavailable } from "../../domain/errors.ts"

/** A holder of sessions on the main database, which can give them up for a while. */
export interface Pausable {
  /** Makes requests wait; completes when no session is left. If interrupted, it stays paused until `resume`. */
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
}

/** ms that running statements may take to end. */
const drainMillis = 10_000

const busy = new Unavailable({
  error: "The database is in use and cannot be copied now",
  code: "BRANCH_SOURCE_BUSY",
  details: `A statement of this service has been running for over ${drainMillis / 1000} s`,
  hint: "Retry when it has ended",
  retry_after: 10
})

/**
 * All sessions of this process on the main database. PostgreSQL copies a database only while no session is in it, so
 * they are closed for the time of a copy; callers only wait longer.
 */
export class MainSessions extends Context.Service<
  MainSessions,
  {
    /** Includes a holder of sessions until the scope closes. */
    readonly add: (holder: Pausable) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Runs the effect while this process has no session on the main database. Fails with 503 if running statements do
     * not end within 10 s. Sessions resume in any case.
     */
    readonly without: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Unavailable, R>
  }
>()("svc/layers/MainSessions") {
  static readonly layer = Layer.effect(
    MainSessions,
    Effect.gen(function* () {
      const holders = new Set<Pausable>()
      const turn = yield* Semaphore.make(1)
      // Interruptible even in an uninterruptible region, so that the timeout works.
      const pause = Effect.suspend(() =>
        Effect.forEach(holders, ({ pause }) => pause, { discard: true, concurrency: "unbounded" })
      ).pipe(Effect.timeoutOrElse({ duration: drainMillis, orElse: () => Effect.fail(busy) }), Effect.interruptible)
      const resume = Effect.suspend(() => Effect.forEach(holders, ({ resume }) => resume, { discard: true }))
      return MainSessions.of({
        add: (holder) =>
          Effect.acquireRelease(
            Effect.sync(() => void holders.add(holder)),
            () => Effect.sync(() => void holders.delete(holder))
          ),
        without: (effect) => turn.withPermit(Effect.ensuring(Effect.andThen(pause, effect), resume))
      })
    })
  )
}
