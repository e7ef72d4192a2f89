import { Result } from "effect"
import { hash } from "node:crypto"
import { contextProblems } from "./Json.ts"
import { problemLines } from "./Problem.ts"
import { type FlagContext, type FlagResult } from "./Evaluation.ts"
import { isJsonObject } from "../text/JsonObject.ts"

/** The longest request body in bytes, as flagd has it. */
export const ofrepBodyLimit = 1_000_000

/** An answer of the OpenFeature remote evaluation protocol; `body` is JSON, empty for 304. */
export interface OfrepReply {
  readonly status: number
  readonly body: string
  /** Of everything in the body: another context may have another answer from the same flags. */
  readonly etag?: string
}

/** The evaluation context in a request's body, or why it has none. No body at all is an empty context. */
export const ofrepContext = (body: string): Result.Result<FlagContext, string> => {
  if (body.trim() === "") return Result.succeed({})
  let request: unknown
  try {
    request = JSON.parse(body)
  } catch {
    return Result.fail("The body is not valid JSON")
  }
  if (!isJsonObject(request)) return Result.fail(`The body must be an object such as {"context": {…}}`)
  const context = Object.hasOwn(request, "context") ? request["context"] : undefined
  if (context === undefined || context === null) return Result.succeed({})
  if (!isJsonObject(context)) return Result.fail("context must be an object")
  const [problem] = problemLines(contextProblems(context))
  return problem === undefined ? Result.succeed(context) : Result.fail(`context: ${problem}`)
}

/** Without `value` and `variant` the caller's own default counts. */
const flagOf = (result: FlagResult) => {
  const { key, metadata, reason } = result
  return reason === "ERROR"
    ? { key, errorCode: result.errorCode, errorDetails: result.errorDetails, metadata }
    : { value: result.value, key, reason, variant: result.variant, metadata }
}

export const singleReply = (result: FlagResult): OfrepReply => ({
  status: result.reason !== "ERROR" ? 200 : result.errorCode === "FLAG_NOT_FOUND" ? 404 : 400,
  body: JSON.stringify(flagOf(result))
})

/** All flags, those that failed among them; 304 when `ifNoneMatch` names what they are now. */
export const bulkReply = (
  results: ReadonlyArray<FlagResult>,
  metadata: Readonly<Record<string, string>>,
  ifNoneMatch: string | undefined
): OfrepReply => {
  const body = JSON.stringify({ flags: results.map(flagOf), metadata })
  const etag = `"${hash("sha256", body, "base64url").slice(0, 27)}"`
  return ifNoneMatch !== undefined && names(ifNoneMatch, etag)
    ? { status: 304, body: "", etag }
    : { status: 200, body, etag }
}

/** RFC 9110 13.1.2: the weak comparison. */
const names = (ifNoneMatch: string, etag: string) =>
  ifNoneMatch.split(",").some((one) => ["*", etag].includes(one.trim().replace(/^W\//, "")))

/** No flag of that name, where no flag set answers that could say so. */
export const notFoundReply = (key: string, metadata: Readonly<Record<string, string>>): OfrepReply => ({
  status: 404,
  body: JSON.stringify({ key, errorCode: "FLAG_NOT_FOUND", errorDetails: `Flag ${key} does not exist`, metadata })
})

/** `key` of the flag that was asked for; undefined for all of them. */
const refused =
  (errorCode: string) =>
  (errorDetails: string, key: string | undefined): OfrepReply => ({
    status: 400,
    body: JSON.stringify({ key, errorCode, errorDetails })
  })

export const contextRefused = refused("INVALID_CONTEXT")
export const selectorRefused = refused("GENERAL")

/** What is wrong before any flag is asked for: 404, 405, 413. */
export const plainReply = (status: number, errorDetails: string): OfrepReply => ({
  status,
  body: JSON.stringify({ errorDetails })
})
