import { Result } from "effect"
import { NotAcceptable } from "../../domain/errors.ts"
import { fromLatin1 } from "../../domain/text/Utf8.ts"
import { type Headers } from "../wire/Headers.ts"

interface Asked {
  readonly method: string
  readonly headers: Headers
}

const writing: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"])

const wantedOf = ({ headers, method }: Asked) => {
  const text = headers[writing.has(method) ? "content-profile" : "accept-profile"]
  return text && fromLatin1(text)
}

/** Whether the client chose a schema; the response then has `Content-Profile`. */
export const choosesProfile = (request: Asked) => wantedOf(request) !== undefined && wantedOf(request) !== ""

/**
 * The schema of a request: `Accept-Profile` for reads, `Content-Profile` for writes and calls, by default the first
 * exposed one. A schema that is not exposed is 406.
 */
export const profileOf = (
  request: Asked,
  schemas: readonly [string, ...ReadonlyArray<string>]
): Result.Result<string, NotAcceptable> => {
  const wanted = wantedOf(request)
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
