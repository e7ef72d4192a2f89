import { Result } from "effect"
import { type HttpServerRequest } from "effect/http"
import { NotAcceptable } from "../domain/errors.ts"

/**
 * The schema a request means: `Accept-Profile` for reads, `Content-Profile` for writes and calls, the first exposed
 * one without. A schema that is not exposed is 406.
 */
export const profileOf = (
  request: HttpServerRequest.HttpServerRequest,
  schemas: readonly [string, ...ReadonlyArray<string>]
): Result.Result<string, NotAcceptable> => {
  const reads = request.method === "GET" || request.method === "HEAD"
  const wanted = request.headers[reads ? "accept-profile" : "content-profile"]
  if (wanted === undefined || wanted === "") return Result.succeed(schemas[0])
  if (schemas.includes(wanted)) return Result.succeed(wanted)
  return Result.fail(
    new NotAcceptable({
      error: `Invalid schema: ${wanted.slice(0, 100)}`,
      code: "PGRST106",
      hint: `Only the following schemas are exposed: ${schemas.join(", ")}`
    })
  )
}
