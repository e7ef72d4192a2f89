import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Conflict, Forbidden, InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"
import {
  NewSchedule,
  RunStatus,
  ScheduleChange,
  ScheduleId,
  ScheduleRecord,
  ScheduleRun
} from "../../domain/schedules/Schedule.ts"
import { Management } from "../access/Access.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"
import { asRecordChange } from "../wire/RecordChange.ts"

const params = { id: ScheduleId }
const count = (maximum: number) => Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum })))

/** What runs at which times, and its history. */
export class SchedulesApi extends HttpApiGroup.make("schedules")
  .add(
    HttpApiEndpoint.get("list", "/", { success: Schema.Array(ScheduleRecord), error: Unavailable }).annotateMerge(
      OpenApi.annotations({
        summary: "List schedules",
        description: "Those with `origin` `own` are jobs of the service, which can be run, not changed."
      })
    ),
    HttpApiEndpoint.post("create", "/", {
      payload: NewSchedule,
      success: ScheduleRecord.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, Forbidden, Conflict, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Create a schedule; the secret of its target is never returned" })),
    HttpApiEndpoint.get("times", "/times", {
      query: { cron: Schema.String, timezone: Schema.optionalKey(Schema.String), count: count(100) },
      success: Schema.Struct({ times: Schema.Array(Schema.String) }),
      error: InvalidRequest
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Show the next times of an expression",
        description: "`timezone` defaults to UTC, `count` to 5."
      })
    ),
    HttpApiEndpoint.get("find", "/:id", {
      params,
      success: ScheduleRecord,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Show a schedule" })),
    HttpApiEndpoint.patch("update", "/:id", {
      params,
      payload: asRecordChange(ScheduleChange, ScheduleRecord),
      success: ScheduleRecord,
      error: [NotFound, InvalidRequest, Forbidden, Conflict, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Change a schedule", description: "`active: false` pauses it." })),
    HttpApiEndpoint.delete("remove", "/:id", {
      params,
      success: Success,
      error: [NotFound, Conflict, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Delete a schedule and its history; ends a run in progress" })),
    HttpApiEndpoint.post("run", "/:id/run", {
      params,
      success: ScheduleRun.pipe(HttpApiSchema.status(202)),
      error: [NotFound, Conflict, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({ summary: "Run a schedule now, also one that is paused; `GET …/runs` shows the result" })
    ),
    HttpApiEndpoint.get("runs", "/:id/runs", {
      params,
      query: {
        limit: count(500),
        before: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
        status: Schema.optionalKey(RunStatus)
      },
      success: Schema.Array(ScheduleRun),
      error: [NotFound, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the runs of a schedule, newest first",
        description: "`limit` defaults to 50. For the next page, set `before` to the last id."
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/schedules")
  .annotateMerge(
    OpenApi.annotations({ title: "Schedules", description: "SQL, functions and HTTP calls at given times" })
  ) {}
