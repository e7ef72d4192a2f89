import { Effect } from "effect"
import { type Peers, type PeerTopic } from "../../services/ports/workers/Peers.ts"
import { type CountLogPosition } from "./CountLogFile.ts"

/** Messages from a worker to the process that started it. `svc` distinguishes these from messages of Node's own. */
export type FromWorker =
  | { readonly svc: "join" }
  | { readonly svc: "generation"; readonly generation: number }
  | { readonly svc: "ready" }
  /** The start has failed; the line is for the operator. */
  | { readonly svc: "failed"; readonly line: string }
  | { readonly svc: "notify"; readonly id: number; readonly topic: PeerTopic; readonly message: string }
  /** The texts that the handlers returned. */
  | { readonly svc: "done"; readonly id: number; readonly answers: ReadonlyArray<string> }

/** Messages to a worker. */
export type ToWorker =
  | { readonly svc: "joined"; readonly position: CountLogPosition }
  | { readonly svc: "do"; readonly id: number; readonly topic: PeerTopic; readonly message: string }
  /** The answers of all that were in time. */
  | { readonly svc: "acknowledged"; readonly id: number; readonly answers: ReadonlyArray<string> }
  | { readonly svc: "stop" }

type Handle = (message: string) => Effect.Effect<unknown, unknown>

/** The handlers of this process. */
export class PeerHandlers {
  private readonly all = new Map<PeerTopic, Set<Handle>>()

  readonly on: (typeof Peers)["Service"]["on"] = (topic, handle) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const handlers = this.all.get(topic) ?? new Set()
        this.all.set(topic, handlers.add(handle))
        return handlers
      }),
      (handlers) => Effect.sync(() => handlers.delete(handle))
    )

  /** Completes when every handler has, with whatever result; returns those that are texts. */
  run(topic: PeerTopic, message: string): Effect.Effect<ReadonlyArray<string>> {
    const results = Effect.forEach(
      this.all.get(topic) ?? [],
      (handle) => Effect.catchCause(handle(message), () => Effect.undefined),
      { concurrency: "unbounded" }
    )
    return Effect.map(results, (all) => all.filter((result) => typeof result === "string"))
  }
}

/** How long a process waits until others have handled its message. */
export const notifyTimeout = "2 seconds"

/** The timeout for a worker whose message the parent passes on: the parent returns the answers that it has by then. */
export const relayTimeout = "2500 millis"
