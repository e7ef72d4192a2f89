import { Schema } from "effect"
import { TimeText } from "./Recovery.ts"

/** A time from which on changes are counted. */
export const ChangesQuery = Schema.Struct({ since: TimeText })

/**
 * What has been written to a table since a time. A row that was written twice counts twice, and one whose transaction was
 * rolled back counts too. A partitioned table counts as one.
 */
const TableChange = Schema.Struct({
  schema: Schema.String,
  table: Schema.String,
  inserted: Schema.Int,
  updated: Schema.Int,
  deleted: Schema.Int,
  /** `rewritten`: truncated, or written again, such as by VACUUM FULL. */
  event: Schema.NullOr(Schema.Literals(["created", "dropped", "rewritten"])),
  /** About how many rows a table that was dropped or rewritten had before. */
  rows_before: Schema.NullOr(Schema.Int)
})

/** What has changed in the main database since a time. Timestamps are ISO 8601 in UTC with milliseconds. */
export const ChangesSince = Schema.Struct({
  since: Schema.String,
  /**
   * The time from which on everything is counted: up to a minute before `since` (an hour, if that is older than a day), or
   * after it, if counting began later; null: it has not begun.
   */
  counted_from: Schema.NullOr(Schema.String),
  counted_until: Schema.String,
  /** False if PostgreSQL lost its counters meanwhile, such as in a crash: there may be more changes. */
  complete: Schema.Boolean,
  /** Those with the most changes first. */
  tables: Schema.Array(TableChange),
  /** More than `tables` has, if there are over 200. */
  table_count: Schema.Int
}).annotate({ identifier: "ChangesSince" })
export type ChangesSince = typeof ChangesSince.Type
