import { Context, Effect, Layer, type Scope, Semaphore } from "effect"
import { Unavailable } from "../../domain/errors.ts"

/** Something that holds sessions on the main database and can let go of them for a while. */
export interface Pausable {
  /** Whoever comes waits; done when no session is left. Interrupted, it stays paused until `resume`. */
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
}

/** How long statements that are under way may take to end, in ms. */
const patienceMillis = 10_000

const busy = new Unavailable({
  error: "The database is in use and can't be copied now",
  code: "BRANCH_SOURCE_BUSY",
  details: `A statement of this service runs for over ${patienceMillis / 1000} s`,
  hint: "Try again when it has ended",
  retry_after: 10
})

/**
 * All sessions of this process on the main database: PostgreSQL copies a database only while nobody is in it. Callers
 * notice nothing but a wait.
 */
export class MainSessions extends Context.Service<
  MainSessions,
  {
    /** Counts it in until the scope closes. */
    readonly add: (part: Pausable) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Runs it while this process has no session on the main database. 503 when statements under way don't end within
     * 10 s; everything goes on then.
     */
    readonly without: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Unavailable, R>
  }
>()("svc/layers/MainSessions") {
  static readonly layer = Layer.effect(
    MainSessions,
    Effect.gen(function* () {
      const parts = new Set<Pausable>()
      const turn = yield* Semaphore.make(1)
      // Interruptible wherever it is run: that is how waiting for it ends.
      const pause = Effect.suspend(() =>
        Effect.forEach(parts, (part) => part.pause, { discard: true, concurrency: "unbounded" })
      ).pipe(Effect.timeoutOrElse({ duration: patienceMillis, orElse: () => Effect.fail(busy) }), Effect.interruptible)
      const resume = Effect.suspend(() => Effect.forEach(parts, (part) => part.resume, { discard: true }))
      return MainSessions.of({
        add: (part) =>
          Effect.acquireRelease(
            Effect.sync(() => void parts.add(part)),
            () => Effect.sync(() => void parts.delete(part))
          ),
        without: (effect) => turn.withPermit(Effect.ensuring(Effect.andThen(pause, effect), resume))
      })
    })
  )
}
