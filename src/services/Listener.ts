import { Context, type Effect, type Scope, type Stream } from "effect"

/** `NOTIFY` as received, or that we hear nothing from now on, or that we hear again but may have missed some. */
export type Heard =
  | { readonly _tag: "Notification"; readonly payload: string }
  | { readonly _tag: "Lost" }
  | { readonly _tag: "Connected" }

/**
 * Port: one dedicated connection that hears PostgreSQL's notifications, reconnecting by itself.
 * Real layer: layers/ListenerPostgres.ts.
 */
export class Listener extends Context.Service<
  Listener,
  {
    /**
     * Joins a channel until the scope closes. The stream never fails: it begins with `Connected` once the channel is
     * joined, and says `Lost` and `Connected` again around an interruption.
     */
    readonly listen: (channel: string) => Effect.Effect<Stream.Stream<Heard>, never, Scope.Scope>
  }
>()("svc/services/Listener") {}
