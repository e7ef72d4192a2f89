import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Flag, FlagChange, FlagHistoryEntry, FlagPromotion, NewFlag } from "../../domain/flags/Flag.ts"
import { FlagEnvironment } from "../../domain/flags/Environment.ts"
import { FlagStatus } from "../../domain/flags/Evaluation.ts"
import { FlagSegment, FlagSegmentChange, NewFlagSegment } from "../../domain/flags/Segment.ts"
import { Conflict, InvalidRequest, NotFound, PreconditionFailed, Unavailable } from "../../domain/errors.ts"
import { AnyKeyOrSession, Management } from "../access/Access.ts"
import { IfMatch, IfNoneMatch, Tagged } from "../wire/Preconditions.ts"
import { asRecordChange } from "../wire/RecordChange.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

/** Any text; an invalid key is answered with 404. */
const params = { key: Schema.String }
/** The environment of state, rule and default variant; default FLAGS_ENVIRONMENT. */
const query = { environment: Schema.optionalKey(FlagEnvironment) }
const BigId = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))
const page = {
  limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 }))),
  before: Schema.optionalKey(BigId)
}
const OneFlag = HttpApiSchema.WithHeaders(Flag, Tagged)
const OneSegment = HttpApiSchema.WithHeaders(FlagSegment, Tagged)
const refused = [NotFound, InvalidRequest, PreconditionFailed, Unavailable] as const
const paging =
  "Returns `limit` entries (default 50), or fewer if they are large. For the next page, pass the last `id` as `before`."

/** Reading feature flags and segments, with any key (spec: Feature flags). */
export class FlagsApi extends HttpApiGroup.make("flags")
  .add(
    HttpApiEndpoint.get("list", "/", { query, success: Schema.Array(Flag), error: Unavailable }).annotateMerge(
      OpenApi.annotations({ summary: "List flags" })
    ),
    HttpApiEndpoint.get("status", "/status", { success: FlagStatus, error: Unavailable }).annotateMerge(
      OpenApi.annotations({ summary: "Get the status of the flag engine" })
    ),
    HttpApiEndpoint.get("segments", "/segments", {
      success: Schema.Array(FlagSegment),
      error: Unavailable
    }).annotateMerge(OpenApi.annotations({ summary: "List segments" })),
    HttpApiEndpoint.get("segment", "/segments/:key", {
      params,
      headers: IfNoneMatch,
      success: OneSegment,
      error: [NotFound, InvalidRequest, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Get a segment" })),
    HttpApiEndpoint.get("segmentHistory", "/segments/:key/history", {
      params,
      query: page,
      success: Schema.Array(FlagHistoryEntry),
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "List a segment's changes, newest first", description: paging })),
    HttpApiEndpoint.get("find", "/:key", {
      params,
      query,
      headers: IfNoneMatch,
      success: OneFlag,
      error: [NotFound, InvalidRequest, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Get a flag" })),
    HttpApiEndpoint.get("history", "/:key/history", {
      params,
      query: page,
      success: Schema.Array(FlagHistoryEntry),
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "List a flag's changes, newest first", description: paging }))
  )
  .middleware(AnyKeyOrSession)
  .prefix("/api/flags")
  .annotateMerge(OpenApi.annotations({ title: "Feature flags", description: "Flags and segments" })) {}

/** Changing flags and segments, for management. The ETag of a record is its revision, for `If-Match`. */
export class FlagChangesApi extends HttpApiGroup.make("flagChanges")
  .add(
    HttpApiEndpoint.post("create", "/", {
      query,
      payload: NewFlag,
      success: HttpApiSchema.WithHeaders(Flag, Tagged).pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, Conflict, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({ summary: "Create a flag with the same configuration in every environment" })
    ),
    HttpApiEndpoint.post("createSegment", "/segments", {
      payload: NewFlagSegment,
      success: HttpApiSchema.WithHeaders(FlagSegment, Tagged).pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, Conflict, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Create a segment" })),
    HttpApiEndpoint.put("updateSegment", "/segments/:key", {
      params,
      headers: IfMatch,
      payload: asRecordChange(FlagSegmentChange, FlagSegment),
      success: OneSegment,
      error: refused
    }).annotateMerge(
      OpenApi.annotations({ summary: "Update a segment; flags that use it follow its new rules immediately" })
    ),
    HttpApiEndpoint.delete("removeSegment", "/segments/:key", {
      params,
      headers: IfMatch,
      success: Success,
      error: [...refused, Conflict]
    }).annotateMerge(OpenApi.annotations({ summary: "Delete an unused segment" })),
    HttpApiEndpoint.put("update", "/:key", {
      params,
      query,
      headers: IfMatch,
      payload: asRecordChange(FlagChange, Flag),
      success: OneFlag,
      error: refused
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Update a flag",
        description:
          "Omitted fields keep their values. `description` and `variants` apply to all environments; `state`, `targeting` and `defaultVariant` to the selected one."
      })
    ),
    HttpApiEndpoint.patch("toggle", "/:key/toggle", {
      params,
      query,
      headers: IfMatch,
      payload: [Schema.Struct({ environment: Schema.optionalKey(FlagEnvironment) }), Schema.Void],
      success: OneFlag,
      error: refused
    }).annotateMerge(OpenApi.annotations({ summary: "Toggle the state of a flag" })),
    HttpApiEndpoint.post("promote", "/:key/promote", {
      params,
      headers: IfMatch,
      payload: FlagPromotion,
      success: OneFlag,
      error: refused
    }).annotateMerge(
      OpenApi.annotations({ summary: "Copy state, rule and default variant from one environment to another" })
    ),
    HttpApiEndpoint.delete("remove", "/:key", {
      params,
      headers: IfMatch,
      success: Success,
      error: refused
    }).annotateMerge(OpenApi.annotations({ summary: "Delete a flag in every environment; its history is kept" }))
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/flags")
  .annotateMerge(OpenApi.annotations({ title: "Feature flag changes", description: "Flags and segments" })) {}
