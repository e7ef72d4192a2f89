import { Context, type DateTime, type Effect, type Scope, type Stream } from "effect"

/** `NOTIFY` as received, or that we hear nothing from now on, or that we hear again but may have missed some. */
export type Heard =
  | { readonly _tag: "Notification"; readonly channel: string; readonly payload: string }
  | { readonly _tag: "Lost" }
  | { readonly _tag: "Connected" }

/** One listener's share of the connection: the channels it has joined. */
export interface Ear {
  /**
   * In the order PostgreSQL sent them, over all channels. Never fails: it begins with `Connected` once the channels are
   * joined, and says `Lost` and `Connected` again around an interruption.
   */
  readonly heard: Stream.Stream<Heard>
  /** Done once PostgreSQL has confirmed it; at once while we are not connected. */
  readonly join: (channel: string) => Effect.Effect<void>
  readonly leave: (channel: string) => Effect.Effect<void>
}

export interface ListenerStatus {
  readonly connected: boolean
  /** Since when it is as it is. */
  readonly since: DateTime.Utc
}

/**
 * Port: one dedicated connection that hears PostgreSQL's notifications on all channels, reconnecting by itself.
 * Real layer: layers/ListenerPostgres.ts.
 */
export class Listener extends Context.Service<
  Listener,
  {
    /** Listens until the scope closes. */
    readonly listen: (...channels: ReadonlyArray<string>) => Effect.Effect<Ear, never, Scope.Scope>
    readonly status: Effect.Effect<ListenerStatus>
  }
>()("svc/services/Listener") {}
