import { Context, Effect, Layer } from "effect"
import { flag, integer } from "../../domain/Settings.ts"

/** SVC_REALTIME_*, read before anything starts. */
export class RealtimeSettings extends Context.Service<
  RealtimeSettings,
  {
    /** Clients need no key and receive all events. */
    readonly open: boolean
    /** Maximum number of clients of all workers. */
    readonly maxClients: number
    /** Maximum number of connections of one client: a user, or an API key at an address. */
    readonly maxPerClient: number
  }
>()("svc/services/RealtimeSettings") {
  static readonly layer = Layer.effect(
    RealtimeSettings,
    Effect.gen(function* () {
      return {
        open: yield* flag("SVC_REALTIME_PUBLIC", false),
        maxClients: yield* integer("SVC_REALTIME_MAX_CLIENTS", 10_000, 1, 1_000_000),
        maxPerClient: yield* integer("SVC_REALTIME_MAX_PER_CLIENT", 1_000, 1, 1_000_000)
      }
    })
  )
}
