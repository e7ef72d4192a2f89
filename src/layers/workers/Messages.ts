import { Effect } from "effect"
import { type Peers, type PeerTopic } from "../../services/ports/Peers.ts"
import { type LogPosition } from "./CountLogFile.ts"

/** What a worker sends to the process that started it. `svc` distinguishes these from messages of Node's own. */
export type FromWorker =
  | { readonly svc: "join" }
  | { readonly svc: "generation"; readonly generation: number }
  | { readonly svc: "ready" }
  /** The start has failed; the line is for the operator. */
  | { readonly svc: "failed"; readonly line: string }
  | { readonly svc: "notify"; readonly id: number; readonly topic: PeerTopic; readonly message: string }
  | { readonly svc: "done"; readonly id: number }

/** What it receives. */
export type ToWorker =
  | { readonly svc: "joined"; readonly position: LogPosition }
  | { readonly svc: "do"; readonly id: number; readonly topic: PeerTopic; readonly message: string }
  | { readonly svc: "acknowledged"; readonly id: number }
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

  /** Completes when every handler has, with whatever result. */
  run(topic: PeerTopic, message: string): Effect.Effect<void> {
    return Effect.forEach(this.all.get(topic) ?? [], (handle) => Effect.ignoreCause(handle(message)), {
      concurrency: "unbounded",
      discard: true
    })
  }
}

/** How long a process waits until others have handled its message. */
export const notifyTimeout = "2 seconds"
