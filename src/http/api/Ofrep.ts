import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ErrorBody } from "../wire/ErrorBodies.ts"

const metadata = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]))

/** A disabled flag has no `value` and `variant`: the client uses its own default. */
const Success = Schema.Struct({
  key: Schema.String,
  reason: Schema.Literals(["STATIC", "TARGETING_MATCH", "DEFAULT", "DISABLED"]),
  variant: Schema.optionalKey(Schema.String),
  value: Schema.optionalKey(Schema.Json),
  metadata
}).annotate({ identifier: "OfrepEvaluation" })

const Failure = Schema.Struct({
  /** Absent for errors of a request for all flags. */
  key: Schema.optionalKey(Schema.String),
  errorCode: Schema.Literals(["FLAG_NOT_FOUND", "PARSE_ERROR", "GENERAL", "INVALID_CONTEXT"]),
  errorDetails: Schema.String,
  metadata: Schema.optionalKey(metadata)
}).annotate({ identifier: "OfrepFailure" })

const payload = [
  Schema.Struct({ context: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)) }),
  Schema.Void
] as const

/** Errors before the evaluation: the usual error body, with `errorDetails` added. */
const refusals = [401, 413, 429, 500, 502, 503, 504].map((status) => ErrorBody.pipe(HttpApiSchema.status(status)))

const about =
  "Any valid key, as `apikey`, `x-api-key` or `Authorization: Bearer`. Header `Flagd-Selector: flagSetId=<environment>` selects the environment; default FLAGS_ENVIRONMENT."

/** The contract of `/ofrep/v1/evaluate/flags`, whose routes http/handlers/Ofrep.ts adds to the router itself. */
export class OfrepApi extends HttpApiGroup.make("ofrep")
  .add(
    HttpApiEndpoint.post("evaluate", "/ofrep/v1/evaluate/flags/:key", {
      params: { key: Schema.String },
      payload,
      success: Success,
      error: [Failure.pipe(HttpApiSchema.status(400)), Failure.pipe(HttpApiSchema.status(404)), ...refusals]
    }).annotateMerge(OpenApi.annotations({ summary: "Evaluate one flag (OFREP)", description: about })),
    HttpApiEndpoint.post("evaluateAll", "/ofrep/v1/evaluate/flags", {
      payload,
      success: Schema.Struct({ flags: Schema.Array(Schema.Union([Success, Failure])), metadata }),
      error: [Failure.pipe(HttpApiSchema.status(400)), ...refusals]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Evaluate all flags (OFREP)",
        description: `${about} Returns an ETag; with \`If-None-Match\`, 304 if nothing has changed.`
      })
    )
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Remote evaluation",
      description: "The OpenFeature remote evaluation protocol, for every OpenFeature SDK"
    })
  ) {}
