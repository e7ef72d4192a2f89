import { Schema } from "effect"

/** A restore to a recent moment into a temporary cluster, which is checked and removed. */
export const RecoveryDrill = Schema.Struct({
  id: Schema.Int,
  started_at: Schema.String,
  finished_at: Schema.NullOr(Schema.String),
  /** The time that the cluster was restored to. */
  target_time: Schema.String,
  status: Schema.Literals(["running", "passed", "failed"]),
  /** Why it failed. */
  error: Schema.NullOr(Schema.String),
  /** How long it took, or has run. */
  seconds: Schema.Finite,
  /** What was read of the restored database: tables, and their rows. Null until then. */
  tables: Schema.NullOr(Schema.Int),
  rows: Schema.NullOr(Schema.Int)
}).annotate({ identifier: "RecoveryDrill" })
export type RecoveryDrill = typeof RecoveryDrill.Type

export const RecoveryDrills = Schema.Struct({ drills: Schema.Array(RecoveryDrill) })

/** `overdue`: none has passed for three days. */
export const DrillState = Schema.Literals(["ok", "failed", "overdue"])
export type DrillState = typeof DrillState.Type
