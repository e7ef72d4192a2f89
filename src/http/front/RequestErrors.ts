import { Effect } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { InvalidRequest } from "../../domain/errors.ts"
import { issueLines } from "./Issues.ts"

/** Turns what a request's schema refuses (an empty 400 by default) into our error, with a line for each field. */
export class RequestErrors extends HttpApiMiddleware.Service<RequestErrors>()("svc/http/RequestErrors", {
  error: InvalidRequest
}) {}

export const layerRequestErrors = HttpApiMiddleware.layerSchemaErrorTransform(RequestErrors, (error) =>
  error.kind === "Body" || error.kind === "ResponseHeaders"
    ? Effect.fail(error) // our own answer did not encode: stays a 500
    : Effect.fail(
        new InvalidRequest({ error: `Invalid ${error.kind.toLowerCase()}`, details: issueLines(error.cause.issue) })
      )
)
