import { Schema } from "effect"

/** A (schema, table) whose changes are told (spec: Realtime). */
export const RealtimeSubscription = Schema.Struct({
  id: Schema.Int,
  schema: Schema.String,
  table: Schema.String,
  /** Trigger and notification channel of the table. */
  channel: Schema.String,
  /** Anything but `active`: nothing is heard of this table for now. */
  status: Schema.Literals(["active", "table_missing", "table_renamed", "trigger_missing", "trigger_disabled"]),
  /** Where the table has gone, as `schema.table`; its events are told under that name. */
  renamed_to: Schema.NullOr(Schema.String),
  created_at: Schema.String
})
export type RealtimeSubscription = typeof RealtimeSubscription.Type

/** A table that can be subscribed to. */
export const RealtimeTable = Schema.Struct({
  schema: Schema.String,
  table: Schema.String,
  subscribed: Schema.Boolean
})
export type RealtimeTable = typeof RealtimeTable.Type
