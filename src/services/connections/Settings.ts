import { Context, Effect, Layer } from "effect"
import { flag } from "../../domain/Settings.ts"

/** SVC_CONNECTIONS_*, read before anything starts (docs/configuration.md). */
export class ConnectionSettings extends Context.Service<
  ConnectionSettings,
  {
    /** Whether tests may connect to loopback and private addresses and to Unix sockets. */
    readonly allowPrivate: boolean
  }
>()("svc/services/ConnectionSettings") {
  static readonly layer = Layer.effect(
    ConnectionSettings,
    Effect.map(flag("SVC_CONNECTIONS_ALLOW_PRIVATE", false), (allowPrivate) => ({ allowPrivate }))
  )
}
