import { Schema } from "effect"

/** How one process hears and tells (spec: GET /api/realtime/status). */
export const RealtimeStatus = Schema.Struct({
  /** Whether the connection that hears row changes is up, and since when it is as it is. */
  listener_connected: Schema.Boolean,
  listener_since: Schema.String,
  active_channels: Schema.Array(Schema.String),
  /** Of this process. */
  connected_clients: Schema.Int,
  /** At most 200. */
  event_log_size: Schema.Int
})
export type RealtimeStatus = typeof RealtimeStatus.Type
