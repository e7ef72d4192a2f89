import { Schema } from "effect"

/**
 * The state of reading the write-ahead log. `late`: a change of a minute ago has not been passed on; `at_risk`: half of
 * the log that PostgreSQL keeps for the slot is used up; `unread`: no process reads, or there is no slot; `lost`:
 * PostgreSQL has dropped what the slot needs.
 */
export const ChangeHealthState = Schema.Literals(["ok", "late", "at_risk", "unread", "lost"])
export type ChangeHealthState = typeof ChangeHealthState.Type

/** The replication slot as PostgreSQL describes it, in bytes. */
export interface Slot {
  readonly active: boolean
  readonly lag: number
  readonly retained: number
  /** Null: PostgreSQL keeps the log without a limit. */
  readonly remaining: number | null
  readonly limit: number | null
  readonly wal_status: string
}

/** The lag in seconds from which changes are late. */
const lateSeconds = 60

/** `most`: the bytes that may be kept if PostgreSQL has no limit. */
export const healthOf = (slot: Slot | undefined, lagSeconds: number, most: number): ChangeHealthState => {
  if (slot?.wal_status === "lost") return "lost"
  if (slot?.active !== true) return "unread"
  const limit = slot.limit ?? most
  if (slot.wal_status === "unreserved" || (slot.remaining ?? limit - slot.retained) < limit / 2) return "at_risk"
  return lagSeconds >= lateSeconds ? "late" : "ok"
}

/** Changes that were not passed on, because the slot was lost: those after `after_lsn` (null: of the slot's beginning). */
const ChangeGap = Schema.Struct({
  reason: Schema.String,
  after_lsn: Schema.NullOr(Schema.String),
  after_at: Schema.NullOr(Schema.String),
  until_lsn: Schema.String,
  until_at: Schema.String,
  tables: Schema.Array(Schema.String)
})

/** The source of changes. Sizes are in bytes; null: there is no slot, or no limit. */
export const ChangeStatus = Schema.Struct({
  source: Schema.Literals(["trigger", "wal"]),
  /** The logical replication slot, and whether a process reads it now. */
  slot: Schema.NullOr(Schema.String),
  active: Schema.Boolean,
  /** Written to the log and not passed on yet. */
  lag_bytes: Schema.NullOr(Schema.Finite),
  /** The age of the oldest such change, as far as this process has measured it. */
  lag_seconds: Schema.NullOr(Schema.Finite),
  /** The log that PostgreSQL keeps for the slot, and what may be added before it drops it (max_slot_wal_keep_size). */
  retained_bytes: Schema.NullOr(Schema.Finite),
  remaining_bytes: Schema.NullOr(Schema.Finite),
  /** PostgreSQL's own: `reserved`, `extended`, `unreserved`, `lost`. */
  wal_status: Schema.NullOr(Schema.String),
  /** Null with triggers. */
  health: Schema.NullOr(ChangeHealthState),
  /** Tables whose changes come from the log, as `schema.table`; those of all others come from triggers. */
  tables: Schema.Array(Schema.String),
  /** The newest 20, the newest first. */
  gaps: Schema.Array(ChangeGap)
})
export type ChangeStatus = typeof ChangeStatus.Type
