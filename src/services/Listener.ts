import { Context, type Effect, type Scope, type Stream } from "effect"

/** `NOTIFY` as received: the payload, or that some may have been missed because the connection was lost. */
export type Heard = { readonly _tag: "Notification"; readonly payload: string } | { readonly _tag: "Reconnected" }

/**
 * Port: one dedicated connection that hears PostgreSQL's notifications, reconnecting by itself.
 * Real layer: layers/ListenerPostgres.ts.
 */
export class Listener extends Context.Service<
  Listener,
  {
    /** Joins a channel until the scope closes. The stream never fails; after a lost connection it says `Reconnected`. */
    readonly listen: (channel: string) => Effect.Effect<Stream.Stream<Heard>, never, Scope.Scope>
    /** Whether notifications reach us now; while false nothing that relies on them may be cached. */
    readonly connected: Effect.Effect<boolean>
  }
>()("svc/services/Listener") {}
