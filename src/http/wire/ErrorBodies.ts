import { type Cause, Schema } from "effect"
import { HttpBody, HttpServerError, HttpServerResponse } from "effect/http"
import { type ErrorCode } from "../../domain/codes/ErrorCode.ts"
import { type ClientError, isClientError } from "../../domain/errors.ts"
import { byteString } from "../../domain/text/Utf8.ts"
import { shorten } from "../../domain/text/Shorten.ts"
import { textResponse } from "./OwnedResponse.ts"

/** The body of every error response (docs/errors.md). */
export const ErrorBody = Schema.Struct({
  error: Schema.String,
  code: Schema.String,
  message: Schema.String,
  details: Schema.NullOr(Schema.Json),
  hint: Schema.NullOr(Schema.String),
  request_id: Schema.String,
  position: Schema.optionalKey(Schema.Int),
  statement_index: Schema.optionalKey(Schema.Int),
  redirect_to: Schema.optionalKey(Schema.NullOr(Schema.String)),
  session_token: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "Error" })

/** Characters of a text in an error body; longer texts repeat the request. */
const maxText = 8 * 1024

const bounded = (value: unknown): unknown => {
  if (typeof value === "string") return shorten(value, maxText)
  return Array.isArray(value) ? value.map(bounded) : value
}

const withBody = (
  status: number,
  body: Record<string, unknown>,
  requestId: string,
  headers: Record<string, string>,
  statusText?: string
) =>
  textResponse(
    JSON.stringify({
      error: bounded(body["error"]),
      code: body["code"],
      message: bounded(body["error"]),
      details: bounded(body["details"] ?? null),
      hint: bounded(body["hint"] ?? null),
      request_id: requestId,
      ...(body["position"] === undefined ? {} : { position: body["position"] }),
      ...(body["statement_index"] === undefined ? {} : { statement_index: body["statement_index"] }),
      ...(body["redirect_to"] === undefined ? {} : { redirect_to: body["redirect_to"] }),
      ...(body["session_token"] === undefined ? {} : { session_token: body["session_token"] })
    }),
    { status, statusText, headers, contentType: headers["content-type"] ?? "application/json" }
  )

const withoutBody: ReadonlySet<number> = new Set([204, 304])

/** The challenge of a 401 (RFC 9110 11.6.1) where a JWT or another session would help. */
export const bearer = 'Bearer realm="svc"'

/** The characters that a quoted string of a challenge cannot contain (RFC 6750 3). */
const unquotable = /[^\x20-\x7e]|["\\]/g

const challengeOf = (code: ErrorCode, error: string) => {
  if (code === "INVALID_API_KEY") return 'ApiKey realm="svc"'
  if (!code.startsWith("JWT_")) return bearer
  return `${bearer}, error="invalid_token", error_description="${shorten(error, 200).replaceAll(unquotable, "'")}"`
}

/** The response for an error. */
export const errorResponse = (error: ClientError, requestId: string): HttpServerResponse.HttpServerResponse => {
  const retry = "retry_after" in error ? error.retry_after : undefined
  const raised = error._tag === "DatabaseError" ? error : undefined
  const headers = {
    ...(error.status === 401 && { "www-authenticate": challengeOf(error.code, error.error) }),
    // User code that raises its own response may set others.
    ...(raised?.status === 503 && { "retry-after": "1" }),
    ...Object.fromEntries((raised?.headers ?? []).map(([name, value]) => [name.toLowerCase(), byteString(value)])),
    ...(retry !== undefined && { "retry-after": String(retry) })
  }
  const answer = withBody(
    error.status,
    error as unknown as Record<string, unknown>,
    requestId,
    headers,
    raised?.status_text
  )
  // User code may choose a status whose responses have no body.
  if (withoutBody.has(error.status)) return HttpServerResponse.setBody(answer, HttpBody.empty)
  if (raised?.headers === undefined || answer.body._tag !== "Uint8Array") return answer
  // The body is sent as bytes: Node would encode the headers like a text body.
  return HttpServerResponse.setBody(answer, HttpBody.uint8Array(Buffer.from(answer.body.body), "application/json"))
}

const plain: Readonly<Record<number, readonly [code: ErrorCode, text: string]>> = {
  400: ["INVALID_REQUEST", "The request is malformed"],
  404: ["NOT_FOUND", "No such route"],
  408: ["REQUEST_TIMEOUT", "The request took too long to arrive"],
  413: ["PAYLOAD_TOO_LARGE", "The body is too large"],
  415: ["UNSUPPORTED_MEDIA_TYPE", "This route does not accept the media type of the body"],
  426: ["UPGRADE_REQUIRED", "This is a WebSocket endpoint: connect with a WebSocket client"],
  503: ["UNAVAILABLE", "The service is shutting down"]
}

const oauthErrors = new WeakSet<HttpServerResponse.HttpServerResponse>()

/** Marks a response of the OAuth 2.0 server, whose errors keep their fields: clients read `error` as a code (RFC 6749 5.2). */
export const asOAuthError = <R extends HttpServerResponse.HttpServerResponse>(response: R): R => {
  if (response.status >= 400) oauthErrors.add(response)
  return response
}

export const isOAuthError = (response: HttpServerResponse.HttpServerResponse) => oauthErrors.has(response)

const oauthFields = ({ error, error_description: description }: Record<string, unknown>) => {
  const text = typeof description === "string" ? description : error
  return { error, error_description: text, code: error, message: text, details: null, hint: null }
}

/** Adds the error body to a response of the framework, or completes that of a declared HttpApi error. */
export const completed = (response: HttpServerResponse.HttpServerResponse, requestId: string) => {
  if (response.headers["content-type"]?.startsWith("text/html") === true) return response // an HTML page already shows the error
  const bytes = response.body._tag === "Uint8Array" ? response.body.body : undefined
  const given = bytes === undefined || bytes.length > 1_000_000 ? undefined : parsed(new TextDecoder().decode(bytes))
  if (given !== undefined && "request_id" in given) return response
  if (given !== undefined && isOAuthError(response)) {
    const fields = { ...given, ...oauthFields(given), request_id: requestId }
    return asOAuthError(HttpServerResponse.setBody(response, HttpBody.jsonUnsafe(fields)))
  }
  const [code, error] = plain[response.status] ?? ["INTERNAL_ERROR", "Internal error"]
  const body: Record<string, unknown> = typeof given?.["error"] === "string" ? given : { error, code }
  const challenge = challengeOf(body["code"] as ErrorCode, String(body["error"]))
  const made = withBody(
    response.status,
    body,
    requestId,
    response.status === 401 ? { "www-authenticate": challenge } : {}
  )
  const retry = given?.["retry_after"]
  const answer = typeof retry === "number" ? HttpServerResponse.setHeader(made, "retry-after", String(retry)) : made
  return HttpServerResponse.setHeaders(HttpServerResponse.setBody(response, answer.body), answer.headers)
}

/** Repeats the text as `errorDetails`, where OFREP clients read it. */
export const withErrorDetails = (response: HttpServerResponse.HttpServerResponse) => {
  const given = response.body._tag === "Uint8Array" ? parsed(new TextDecoder().decode(response.body.body)) : undefined
  return given === undefined
    ? response
    : HttpServerResponse.setBody(response, HttpBody.jsonUnsafe({ ...given, errorDetails: given["error"] }))
}

const parsed = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Code and text of a completed error response, for the log. */
export const failureOf = (response: HttpServerResponse.HttpServerResponse) => {
  const { body } = response
  const given =
    body._tag === "Uint8Array" && body.body.length < 100_000 ? parsed(new TextDecoder().decode(body.body)) : {}
  const [code, error] = [given?.["code"], given?.["error"]]
  return { code: typeof code === "string" ? code : "", error: typeof error === "string" ? error : "" }
}

/** The declared error in a cause, if there is one. */
export const knownFailure = (cause: Cause.Cause<unknown>): ClientError | undefined => {
  for (const reason of cause.reasons) {
    if (reason._tag !== "Fail") continue
    const { error } = reason
    if (isClientError(error)) return error
  }
  return undefined
}

/** No route, or a body the framework refused: not worth a line in the log. */
export const frameworkFailure = (cause: Cause.Cause<unknown>): "route" | "size" | "parse" | undefined => {
  for (const reason of cause.reasons) {
    const error = reason._tag === "Fail" ? reason.error : reason._tag === "Die" ? reason.defect : undefined
    if (!HttpServerError.isHttpServerError(error)) continue
    if (error.reason._tag === "RouteNotFound") return "route"
    if (error.reason._tag === "RequestParseError") return error.reason.reason === "BodyTooLarge" ? "size" : "parse"
  }
  return undefined
}

const chosen = new WeakSet<HttpServerResponse.HttpServerResponse>()

/** Marks a response whose status a user's function chose: it gets no error body, whatever the status. */
export const withChosenStatus = <R extends HttpServerResponse.HttpServerResponse>(response: R): R => {
  chosen.add(response)
  return response
}

export const hasChosenStatus = (response: HttpServerResponse.HttpServerResponse) => chosen.has(response)
