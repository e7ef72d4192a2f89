import { Schema } from "effect"
import { DrillState } from "./recovery/Drill.ts"
import { ChangeHealthState } from "./changes/ChangeStatus.ts"

/** `degraded`: the flagd of FLAGS_HOST does not evaluate, or evaluates outdated rules. */
const FlagState = Schema.Literals(["ok", "degraded"])

/** The response of `GET /v1/status`. `commit`: that of the build, or `unknown`. `uptime_seconds` is that of this process. */
export const ServiceStatus = Schema.Struct({
  /** `degraded`: a part is. */
  status: Schema.Literals(["ok", "degraded"]),
  version: Schema.String,
  commit: Schema.String,
  uptime_seconds: Schema.Int,
  database: Schema.Struct({ status: Schema.Literal("ok"), version: Schema.String }),
  flags: Schema.Struct({ status: FlagState }),
  /** `console_url`: where people manage the object store, S3_CONSOLE_URL; null if it is not set. */
  storage: Schema.Struct({ console_url: Schema.NullOr(Schema.String) })
})
export type ServiceStatus = typeof ServiceStatus.Type

/**
 * The response of `GET /readyz`. `changes`: with SVC_CHANGES=wal, how the reading of the write-ahead log is doing.
 * `recovery`: with SVC_PITR, how its archiving is doing, and `recovery_drill` whether its restores are.
 * `flags`: with FLAGS_HOST.
 */
export const Readiness = Schema.Struct({
  status: Schema.Literal("ok"),
  flags: Schema.optionalKey(FlagState),
  changes: Schema.optionalKey(ChangeHealthState),
  recovery: Schema.optionalKey(ChangeHealthState),
  recovery_drill: Schema.optionalKey(DrillState)
})
export type Readiness = typeof Readiness.Type
