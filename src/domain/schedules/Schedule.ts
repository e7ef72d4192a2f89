import { Schema } from "effect"
import { NotFound } from "../errors.ts"
import { FunctionName } from "../functions/Function.ts"
import { isPlain, isStorable } from "../text/StorableText.ts"
import { CustomHeaders, SigningSecret, TargetUrl } from "../webhooks/Webhook.ts"

export const ScheduleId = Schema.Int.pipe(Schema.brand("ScheduleId"))
export type ScheduleId = typeof ScheduleId.Type

export const scheduleNotFound = (id: ScheduleId) =>
  new NotFound({ error: `Schedule ${id} does not exist`, code: "SCHEDULE_NOT_FOUND" })

const Name = Schema.NonEmptyString.check(Schema.isMaxCodePoints(100), isPlain)
/** PostgreSQL's names have at most 63 bytes. */
const Identifier = Schema.NonEmptyString.check(Schema.isMaxCodePoints(63), isStorable)
const Expression = Schema.NonEmptyString.check(Schema.isMaxCodePoints(200), isPlain)
const Timezone = Schema.NonEmptyString.check(Schema.isMaxCodePoints(100), isPlain)

/** One or several statements. */
const SqlTarget = Schema.Struct({
  type: Schema.Literal("sql"),
  sql: Schema.NonEmptyString.check(Schema.isMaxCodePoints(65_536), isStorable)
})

/** A call of a function of the database, with named arguments. */
const StoredFunctionTarget = Schema.Struct({
  type: Schema.Literal("stored_function"),
  schema: Schema.optionalKey(Identifier),
  name: Identifier,
  args: Schema.optionalKey(Schema.Record(Identifier, Schema.Json))
})

/** A call of a function in Deno, as the service itself (docs/functions.md). */
const FunctionTarget = Schema.Struct({
  type: Schema.Literal("function"),
  name: FunctionName,
  /** Replaces the body that names schedule and run. */
  body: Schema.optionalKey(Schema.Json)
})

const http = { type: Schema.Literal("http"), url: TargetUrl, headers: CustomHeaders }

/** A POST, as webhooks send it. */
const HttpTarget = Schema.Struct({
  ...http,
  headers: Schema.optionalKey(CustomHeaders),
  /** Replaces the body that names schedule and run. */
  body: Schema.optionalKey(Schema.Json),
  /** Null or omitted: not signed. */
  secret: Schema.optionalKey(SigningSecret)
})

/** What a new or changed schedule runs. */
export const GivenTarget = Schema.Union([SqlTarget, StoredFunctionTarget, FunctionTarget, HttpTarget])
export type GivenTarget = typeof GivenTarget.Type

/** What a schedule runs, as it is returned: without its secret. */
const Target = Schema.Union([
  SqlTarget,
  StoredFunctionTarget,
  FunctionTarget,
  Schema.Struct({ ...http, body: Schema.optionalKey(Schema.Json), has_secret: Schema.Boolean }),
  /** A job of the service itself. */
  Schema.Struct({ type: Schema.Literal("own"), summary: Schema.String })
])

/** What happens at a time at which the previous run has not ended. */
const Overlap = Schema.Literals(["skip", "queue", "allow"])
/** See `dueTimes`. */
const CatchUpPolicy = Schema.Literals(["skip", "once", "all"])
const Seconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 }))
const Retries = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10 }))

const settable = {
  timezone: Schema.optionalKey(Timezone),
  role: Schema.optionalKey(Identifier),
  active: Schema.optionalKey(Schema.Boolean),
  overlap: Schema.optionalKey(Overlap),
  catch_up: Schema.optionalKey(CatchUpPolicy),
  timeout: Schema.optionalKey(Seconds),
  retries: Schema.optionalKey(Retries)
}

export const NewSchedule = Schema.Struct({ ...settable, name: Name, cron: Expression, target: GivenTarget })
export type NewSchedule = typeof NewSchedule.Type

export const ScheduleChange = Schema.Struct({
  ...settable,
  name: Schema.optionalKey(Name),
  cron: Schema.optionalKey(Expression),
  target: Schema.optionalKey(GivenTarget)
})
export type ScheduleChange = typeof ScheduleChange.Type

/** `skipped`: it was not begun. `interrupted`: the process that ran it ended. */
export const RunStatus = Schema.Literals(["pending", "running", "succeeded", "failed", "skipped", "interrupted"])
export type RunStatus = typeof RunStatus.Type

export const ScheduleRun = Schema.Struct({
  id: Schema.Int,
  schedule_id: ScheduleId,
  /** `manual`: on request. */
  cause: Schema.Literals(["time", "manual"]),
  scheduled_at: Schema.String,
  status: RunStatus,
  attempt: Schema.Int,
  started_at: Schema.NullOr(Schema.String),
  finished_at: Schema.NullOr(Schema.String),
  duration_ms: Schema.NullOr(Schema.Finite),
  result: Schema.NullOr(Schema.String),
  error: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ScheduleRun" })
export type ScheduleRun = typeof ScheduleRun.Type

/** A schedule as returned by the API. Timestamps are ISO 8601 in UTC with milliseconds. */
export const ScheduleRecord = Schema.Struct({
  id: ScheduleId,
  name: Schema.NullOr(Schema.String),
  /** `api`: made here; `cron`: by `cron.schedule`; `own`: a job of the service, which can't be changed. */
  origin: Schema.Literals(["api", "cron", "own"]),
  cron: Schema.String,
  timezone: Schema.String,
  target: Target,
  /** The database role that SQL runs as. */
  role: Schema.String,
  active: Schema.Boolean,
  overlap: Overlap,
  catch_up: CatchUpPolicy,
  /** Seconds of one attempt. */
  timeout: Schema.Finite,
  retries: Schema.Int,
  /** Why it does not run any more. */
  problem: Schema.NullOr(Schema.String),
  /** The next five times; empty while it is paused. */
  next_runs: Schema.Array(Schema.String),
  last_run: Schema.NullOr(ScheduleRun),
  created_at: Schema.String,
  updated_at: Schema.String
}).annotate({ identifier: "Schedule" })
export type ScheduleRecord = typeof ScheduleRecord.Type

/** Characters of a run's result and error that are kept. */
const maxKept = 4_000

/** A result or an error in a form that can be stored. */
export const keptText = (text: string): string => text.slice(0, maxKept).toWellFormed().replaceAll("\0", "\ufffd")
