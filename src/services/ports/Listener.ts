import { Context, type DateTime, type Effect, type Scope, type Stream } from "effect"

/** A notification, or a change of the connection; notifications sent between `Lost` and `Connected` are missed. */
export type ListenerMessage =
  | { readonly _tag: "Notification"; readonly channel: string; readonly payload: string }
  | { readonly _tag: "Lost" }
  | { readonly _tag: "Connected" }

/** One subscriber's share of the connection: the channels it has joined. */
export interface ListenerSubscription {
  /**
   * The messages in PostgreSQL's order, across all channels. Never fails: the stream begins with `Connected` once the
   * channels are joined, and emits `Lost` and `Connected` around each interruption.
   */
  readonly messages: Stream.Stream<ListenerMessage>
  /** Completes once PostgreSQL has confirmed the LISTEN; immediately while there is no connection. */
  readonly join: (channel: string) => Effect.Effect<void>
  readonly leave: (channel: string) => Effect.Effect<void>
}

export interface ListenerStatus {
  readonly connected: boolean
  /** The time of the last change of `connected`. */
  readonly since: DateTime.Utc
}

/**
 * Port: one dedicated connection that receives PostgreSQL's notifications on all channels and reconnects by itself.
 * Real layer: layers/postgres/Listener.ts.
 */
export class Listener extends Context.Service<
  Listener,
  {
    /** Listens until the scope closes. */
    readonly listen: (...channels: ReadonlyArray<string>) => Effect.Effect<ListenerSubscription, never, Scope.Scope>
    readonly status: Effect.Effect<ListenerStatus>
  }
>()("svc/services/Listener") {}
