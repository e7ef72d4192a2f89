import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Schema } from "effect"
import { FlagEnvironment } from "../../domain/flags/Environment.ts"
import {
  FlagBulkEvaluation,
  FlagBulkRequest,
  FlagEvaluation,
  FlagEvaluationRequest
} from "../../domain/flags/Evaluation.ts"
import { ErrorBody } from "../wire/ErrorBodies.ts"

const query = { environment: Schema.optionalKey(FlagEnvironment) }
const errors = (...statuses: ReadonlyArray<number>) =>
  statuses.map((status) => ErrorBody.pipe(HttpApiSchema.status(status)))

/** The contract of `/api/flags/evaluate`, whose routes http/handlers/FlagEvaluation.ts adds to the router itself. */
export class FlagEvaluationApi extends HttpApiGroup.make("flagEvaluation")
  .add(
    HttpApiEndpoint.post("one", "/api/flags/evaluate", {
      query,
      payload: FlagEvaluationRequest,
      success: FlagEvaluation,
      error: errors(400, 401, 404, 413, 415, 502, 503, 504)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Evaluate a flag",
        description:
          "A disabled flag has its default variant. If its rule fails, the answer is 200 with `reason` ERROR."
      })
    ),
    HttpApiEndpoint.post("many", "/api/flags/evaluate/bulk", {
      query,
      payload: FlagBulkRequest,
      success: FlagBulkEvaluation,
      error: errors(400, 401, 413, 415, 502, 503, 504)
    }).annotateMerge(OpenApi.annotations({ summary: "Evaluate up to 1000 flags, in the order of `flagKeys`" }))
  )
  .annotateMerge(OpenApi.annotations({ title: "Flag evaluation" })) {}
