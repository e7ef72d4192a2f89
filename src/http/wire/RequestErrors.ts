import { Effect, SchemaIssue } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { InvalidRequest } from "../../domain/errors.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** Lines of an error; an array may have thousands of invalid elements. */
const maxLines = 20

/**
 * Replaces the library's terms with those of callers. JSON has no `undefined`: a field that may be undefined may be
 * omitted.
 */
const said = (message: string) =>
  message === "Expected no excess property"
    ? "Unknown field"
    : message.replaceAll(/(?<=^Expected .*) \| undefined\b/g, "")

/** A line for each field that a schema rejects, 20 at most: `statements.0.sql: Missing key`. */
export const issueLines = (issue: SchemaIssue.Issue): ReadonlyArray<string> => {
  const { issues } = format(issue)
  const lines = issues
    .slice(0, maxLines)
    .map(({ message, path = [] }) =>
      [path.map(String).join("."), said(message)].filter((part) => part !== "").join(": ")
    )
  return issues.length > maxLines ? [...lines, `and ${issues.length - maxLines} more`] : lines
}

/** Turns a request that its schema rejects (an empty 400 by default) into an `InvalidRequest` with a line for each field. */
export class RequestErrors extends HttpApiMiddleware.Service<RequestErrors>()("svc/http/RequestErrors", {
  error: InvalidRequest
}) {}

export const layerRequestErrors = HttpApiMiddleware.layerSchemaErrorTransform(RequestErrors, (error) =>
  error.kind === "Body" || error.kind === "ResponseHeaders"
    ? Effect.fail(error) // the service's own response did not encode: stays a 500
    : Effect.fail(
        new InvalidRequest({ error: `Invalid ${error.kind.toLowerCase()}`, details: issueLines(error.cause.issue) })
      )
)
