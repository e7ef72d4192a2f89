import { Result } from "effect"
import { isUtf8 } from "node:buffer"
import { hash } from "node:crypto"
import { contextProblems } from "./Json.ts"
import { problemLines } from "./Problem.ts"
import { type FlagContext, type FlagResult, contextBounds } from "./Evaluation.ts"
import { isJsonObject } from "../text/JsonObject.ts"
import { jsonExcess } from "../text/JsonShape.ts"
import { type FlagEnvironment, selectFlags } from "./Environment.ts"

/** A response of the OpenFeature remote evaluation protocol; `body` is JSON, empty for 304. */
export interface OfrepReply {
  readonly status: number
  readonly body: string
  /** Covers the whole body, because another context may have another answer from the same flags. */
  readonly etag?: string
}

export interface OfrepRequest {
  /** The flag's key; undefined for all flags. */
  readonly key: string | undefined
  readonly body: Buffer
  /** Header `Flagd-Selector`. */
  readonly selector: string | undefined
  readonly ifNoneMatch: string | undefined
}

/** The evaluation that a valid request needs: of `key`, or of all flags of the environment. */
export interface OfrepEvaluation {
  readonly environment: FlagEnvironment
  readonly context: FlagContext
}

/** The reply to a request that needs no evaluation, or the evaluation. */
export const answerOfrep = (
  { body, ifNoneMatch, key, selector }: OfrepRequest,
  defaultEnvironment: FlagEnvironment
): { readonly reply: OfrepReply } | OfrepEvaluation => {
  const invalid = (errorCode: string, errorDetails: string) => ({
    reply: { status: 400, body: JSON.stringify({ key, errorCode, errorDetails }) }
  })
  if (!isUtf8(body)) return invalid("INVALID_CONTEXT", "The body is not valid UTF-8")
  const excess = jsonExcess(body, contextBounds)
  if (excess !== undefined) return invalid("INVALID_CONTEXT", excess.error)
  const context = ofrepContext(body.toString("utf8"))
  if (Result.isFailure(context)) return invalid("INVALID_CONTEXT", context.failure)
  const environment = selectFlags(selector, defaultEnvironment)
  if (typeof environment === "object") return invalid("GENERAL", environment.problem)
  if (environment !== "none") return { environment, context: context.success }
  if (key === undefined) return { reply: bulkReply([], {}, ifNoneMatch) }
  const errorDetails = `Flag ${key} does not exist`
  return {
    reply: { status: 404, body: JSON.stringify({ key, errorCode: "FLAG_NOT_FOUND", errorDetails, metadata: {} }) }
  }
}

/** The evaluation context in a request's body, or why it is invalid. An empty body is an empty context. */
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

/** The client uses its own default if `value` and `variant` are absent. */
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

/** All flags, including failed evaluations; 304 when `ifNoneMatch` matches the new body. */
export const bulkReply = (
  results: ReadonlyArray<FlagResult>,
  metadata: Readonly<Record<string, string>>,
  ifNoneMatch: string | undefined
): OfrepReply => {
  const body = JSON.stringify({ flags: results.map(flagOf), metadata })
  const etag = `"${hash("sha256", body, "base64url").slice(0, 27)}"`
  return ifNoneMatch !== undefined && matches(ifNoneMatch, etag)
    ? { status: 304, body: "", etag }
    : { status: 200, body, etag }
}

/** The weak comparison of RFC 9110, section 13.1.2. */
const matches = (ifNoneMatch: string, etag: string) =>
  ifNoneMatch.split(",").some((one) => ["*", etag].includes(one.trim().replace(/^W\//, "")))

/** An error of the request itself: 404, 405, 413, 500. */
export const plainReply = (status: number, errorDetails: string): OfrepReply => ({
  status,
  body: JSON.stringify({ errorDetails })
})
