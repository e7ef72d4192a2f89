import { Schema } from "effect"
import { maxBranchLabel, RestoreOptions } from "../branches/Branch.ts"
import { ChangeHealthState } from "../changes/ChangeStatus.ts"
import { isTimestamp } from "../text/IsoTime.ts"

/** A time in requests. */
export const TimeText = Schema.String.check(
  Schema.makeFilter(
    (text: string) =>
      isTimestamp(text) || "Expected an ISO 8601 timestamp with a time zone, such as 2026-11-21T12:00:00Z"
  )
)

/** The time in ms since 1970. */
export const instantOf = (time: typeof TimeText.Type) => Date.parse(time.toUpperCase())

/** A request for the database as it was at a time, in a branch. */
export const PointInTime = RestoreOptions.mapFields((fields) => ({ target_time: TimeText, ...fields }))
export type PointInTime = typeof PointInTime.Type

/** The label of the branch if none is given. */
export const pointInTimeLabel = (target: number) =>
  `As of ${new Date(target)
    .toISOString()
    .replace("T", " ")
    .replace(/\.000Z$/, "Z")}`.slice(0, maxBranchLabel)

/** What can be restored. Timestamps are ISO 8601 in UTC with milliseconds, by PostgreSQL's clock. */
export const RecoveryState = Schema.Struct({
  /** The ends of what can be restored; null until the first base backup is complete. */
  earliest: Schema.NullOr(Schema.String),
  latest: Schema.NullOr(Schema.String),
  /** Seconds from `latest` until now. */
  lag_seconds: Schema.NullOr(Schema.Finite),
  /** By their beginning. */
  base_backups: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      started_at: Schema.String,
      completed_at: Schema.String,
      /** Bytes of the cluster's files, and of the archive's objects. */
      size_bytes: Schema.Int,
      stored_bytes: Schema.Int
    })
  ),
  /** More than one: log between them is missing. */
  spans: Schema.Array(Schema.Struct({ from: Schema.String, to: Schema.String })),
  /** The directory, or the bucket as `s3://…`. */
  place: Schema.String,
  /** Whether the log is archived now; if not, `problem` has the reason if this process knows it. */
  archiving: Schema.Boolean,
  problem: Schema.NullOr(Schema.String),
  /** Bytes of log that PostgreSQL keeps because they are not archived, and from which it drops them; null: it never does. */
  retained_bytes: Schema.Int,
  limit_bytes: Schema.NullOr(Schema.Int),
  /** Until when the objects of the embedded store are archived; null for a store of another kind. */
  objects: Schema.NullOr(
    Schema.Struct({ archived_until: Schema.NullOr(Schema.String), problem: Schema.NullOr(Schema.String) })
  ),
  recovery_key: Schema.Struct({
    made: Schema.Boolean,
    /** When a person proved that it was kept. */
    kept_at: Schema.NullOr(Schema.String)
  }),
  /** Of the archiving, as `recovery` of `/readyz`; null: not known yet. */
  health: Schema.NullOr(ChangeHealthState),
  /** How far back a restore can reach (SVC_PITR_KEEP). */
  keep_seconds: Schema.Finite,
  /** Whether the archive is on the disk of the data directory; null: not known, such as of a store of your own. */
  same_disk: Schema.NullOr(Schema.Boolean),
  /** At most 100 tables, as `schema.table` quoted for SQL, whose rows are in no archive, because PostgreSQL does not log them; a minute old. */
  unlogged_tables: Schema.Array(Schema.String),
  /** Buckets whose deleted and overwritten objects nothing keeps; a minute old. Null: the store did not say. */
  unversioned_buckets: Schema.NullOr(Schema.Array(Schema.String))
}).annotate({ identifier: "RecoveryState" })
export type RecoveryState = typeof RecoveryState.Type

/** 56 characters in groups of four. */
export const RecoveryKeyText = Schema.Struct({ recovery_key: Schema.String })
