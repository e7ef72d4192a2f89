import { Context, Deferred, Effect, Exit, Layer } from "effect"
import { duration } from "../domain/Settings.ts"

/** How long the service still serves after SIGTERM, in ms. */
export const shutdownDelay = duration("SVC_SHUTDOWN_DELAY", 5_000)

/**
 * The end of the service. After SIGTERM it serves for SVC_SHUTDOWN_DELAY more, in which `/readyz` responds 503 and every
 * response closes its connection, so that load balancers and clients move to another replica. After SIGINT, which comes
 * from a terminal, there is no delay.
 */
export class Shutdown extends Context.Service<
  Shutdown,
  {
    /** The delay in ms. */
    readonly delay: number
    /** Whether the service is shutting down; for hot paths. */
    readonly begun: () => boolean
    /** Begins the shutdown, and completes after the delay. */
    readonly begin: Effect.Effect<void>
    /** The signal for processes that end with this one: SIGINT once this process has received it. */
    readonly signal: () => "SIGINT" | "SIGTERM"
  }
>()("svc/services/Shutdown") {
  static readonly layer = Layer.effect(
    Shutdown,
    Effect.gen(function* () {
      const delay = yield* shutdownDelay
      const hurried = yield* Deferred.make<void>()
      const hurry = () => void Deferred.doneUnsafe(hurried, Exit.void)
      yield* Effect.acquireRelease(
        Effect.sync(() => process.prependListener("SIGINT", hurry)),
        () => Effect.sync(() => process.off("SIGINT", hurry))
      )
      let begun = false
      const begin = Effect.suspend(() => {
        begun = true
        return delay === 0 ? Effect.void : Effect.asVoid(Effect.timeoutOption(Deferred.await(hurried), delay))
      })
      return Shutdown.of({
        delay,
        begun: () => begun,
        begin,
        signal: () => (Deferred.isDoneUnsafe(hurried) ? "SIGINT" : "SIGTERM")
      })
    })
  )
}

/** Begins the shutdown when it ends, so it must be built last. */
export const layerShutdownDelay = Layer.effectDiscard(
  Effect.flatMap(Shutdown, ({ begin }) => Effect.addFinalizer(() => begin))
)
