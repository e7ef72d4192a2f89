import { Schema } from "effect"

/** Where changes come from. Sizes are in bytes; null: there is no slot, or no limit. */
export const ChangeStatus = Schema.Struct({
  source: Schema.Literals(["trigger", "wal"]),
  /** The logical replication slot, and whether a process reads it now. */
  slot: Schema.NullOr(Schema.String),
  active: Schema.Boolean,
  /** Written to the log and not passed on yet. */
  lag_bytes: Schema.NullOr(Schema.Finite),
  /** The log that PostgreSQL keeps for the slot, and what may be added before it drops it (max_slot_wal_keep_size). */
  retained_bytes: Schema.NullOr(Schema.Finite),
  remaining_bytes: Schema.NullOr(Schema.Finite),
  /** PostgreSQL's own: `reserved`, `extended`, `unreserved`, `lost`. */
  wal_status: Schema.NullOr(Schema.String),
  /** Tables whose changes come from the log, as `schema.table`; those of all others come from triggers. */
  tables: Schema.Array(Schema.String)
})
export type ChangeStatus = typeof ChangeStatus.Type
