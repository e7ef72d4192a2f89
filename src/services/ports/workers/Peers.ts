import { Context, Effect, type Scope } from "effect"

/**
 * The subject of a message: data that has changed, of which other processes may have an older copy; `functions`,
 * `metrics` and `requests`: the data of each process.
 */
export type PeerTopic = "api-keys" | "flags" | "functions" | "metrics" | "realtime-channels" | "requests" | "sessions"

/**
 * Port: the other processes of this service, if it has several workers. Replicas elsewhere are notified of changes by
 * PostgreSQL, milliseconds later; a client of this service must not notice that another worker answers its next request.
 * Layer: layers/workers/Worker.ts.
 */
export const Peers = Context.Reference<{
  /** Completes when all other processes have handled the message, or after two seconds. */
  readonly notify: (topic: PeerTopic, message: string) => Effect.Effect<void>
  /** The texts with which the handlers of all other processes succeed that do so within two seconds. */
  readonly ask: (topic: PeerTopic, message: string) => Effect.Effect<ReadonlyArray<string>>
  /** Handles a topic until the scope closes. */
  readonly on: (
    topic: PeerTopic,
    handle: (message: string) => Effect.Effect<unknown, unknown>
  ) => Effect.Effect<void, never, Scope.Scope>
}>("svc/services/Peers", {
  defaultValue: () => ({ notify: () => Effect.void, ask: () => Effect.succeed([]), on: () => Effect.void })
})
