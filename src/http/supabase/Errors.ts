import { HttpBody, HttpServerResponse } from "effect/http"
import { type ErrorCode } from "../../domain/codes/ErrorCode.ts"
import { type AuthCode, type FileCode } from "../../domain/codes/SupabaseCodes.ts"
import { type ClientError, InvalidRequest, NotFound, NotImplemented } from "../../domain/errors.ts"

/** An API of Supabase's clients, by the first segment of its paths. */
export type SupabaseApi = "rest" | "auth" | "storage" | "realtime" | "functions" | "graphql"

type Response = HttpServerResponse.HttpServerResponse

/** The service's own error body, and what a handler added to it. */
interface Fields {
  readonly code: ErrorCode
  readonly error: string
  readonly [name: string]: unknown
}

interface Shape {
  readonly status?: number
  readonly body: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

/** Supabase refuses UPDATE and DELETE without WHERE by an extension of PostgreSQL, with this SQLSTATE. */
const unfiltered = (fields: Fields, method: string) => {
  const error = `${method === "DELETE" ? "DELETE" : "UPDATE"} requires a WHERE clause`
  return { ...fields, error, code: "21000", message: error }
}

const rest = (fields: Fields, _status: number, method: string): Shape => {
  if (fields.code === "FILTER_REQUIRED") return { body: unfiltered(fields, method) }
  if (!fields.code.startsWith("JWT_")) return { body: fields }
  const error = fields.code === "JWT_EXPIRED" ? "JWT expired" : fields.error
  return { body: { ...fields, code: "PGRST301", error, message: error } }
}

/** `error` of storage's answers, where it is not the code. */
const storageErrors: Readonly<Partial<Record<ErrorCode, string>>> = {
  NoSuchBucket: "Bucket not found",
  NoSuchKey: "not_found",
  BucketAlreadyExists: "Duplicate",
  KeyAlreadyExists: "Duplicate",
  AccessDenied: "Unauthorized",
  InvalidBucketName: "Invalid Input",
  InvalidMimeType: "invalid_mime_type",
  EntityTooLarge: "Payload too large",
  InvalidRange: "invalid_range",
  InvalidRequest: "Error"
}

/** Codes of the service as storage names them. */
const storageCodes: Readonly<Partial<Record<ErrorCode, FileCode>>> = {
  INVALID_API_KEY: "AccessDenied",
  INVALID_REQUEST: "InvalidRequest",
  PAYLOAD_TOO_LARGE: "EntityTooLarge",
  RATE_LIMITED: "SlowDown"
}

/** The text of the error without any credential, by which it differs from that of a wrong one. */
export const noKey = "No API key found in request"

/** Storage's own text for a request without credentials, which its schema requires. */
const noCredential = { error: "headers must have required property 'authorization'", code: "InvalidRequest" } as const

/** Storage answers 400 to faults of the caller, and has the status in the body. */
const storage = (fields: Fields, sent: number): Shape => {
  const without = fields.error === noKey && fields.code === "INVALID_API_KEY"
  const { code: given, error: message, request_id } = without ? { ...fields, ...noCredential } : fields
  const status = without ? 400 : sent
  const denied = given.startsWith("JWT_") || status === 401
  const code: ErrorCode = denied ? "AccessDenied" : (storageCodes[given] ?? given)
  const statusCode = String(denied ? 403 : status)
  return {
    status: (status >= 500 && status !== 501) || status === 429 ? status : 400,
    body: { statusCode, error: storageErrors[code] ?? code, message, code, request_id }
  }
}

/** Codes of the service as the sign-in API names them. */
const authCodes: Readonly<Partial<Record<ErrorCode, AuthCode>>> = {
  ADDRESS_TAKEN: "email_exists",
  FLOW_EXPIRED: "flow_state_expired",
  FLOW_NOT_FOUND: "flow_state_not_found",
  IDENTITY_NOT_FOUND: "user_not_found",
  INVALID_REQUEST: "validation_failed",
  LINK_TAKEN: "identity_already_exists",
  LINK_EXISTS: "identity_already_exists",
  RATE_LIMITED: "over_request_rate_limit",
  REGISTRATION_CLOSED: "signup_disabled",
  SIGN_IN_BUSY: "over_request_rate_limit",
  TOO_MANY_GUESSES: "over_request_rate_limit"
}

/** A code of the service, as the sign-in API names it. */
export const authCodeOf = (code: ErrorCode) =>
  code.startsWith("JWT_") ? "bad_jwt" : (authCodes[code] ?? code.toLowerCase())

const weakReason = (error: string) =>
  /at least|at most/.test(error) ? "length" : /attackers|address/.test(error) ? "pwned" : "characters"

const auth = ({ code: given, error, request_id }: Fields, status: number): Shape => {
  const ofToken = given.startsWith("JWT_")
  const code = authCodeOf(given)
  const body = { code, error_code: code, message: error, msg: error, request_id }
  return {
    // Clients take 403 for a token that a new one replaces.
    // A failed hook is no reason to send the same again, as 502 would be.
    status: ofToken
      ? 403
      : given === "SIGN_IN_BUSY"
        ? 429
        : given === "unexpected_failure" && status === 502
          ? 500
          : status,
    body: code === "weak_password" ? { ...body, weak_password: { reasons: [weakReason(error)] } } : body,
    // Clients read `code` as a text if this version is present.
    headers: { "x-supabase-api-version": "2024-01-01" }
  }
}

const plain = ({ code, error, request_id }: Fields): Shape => ({
  body: { code, message: error, msg: error, error, request_id }
})

const shapes: Readonly<Record<SupabaseApi, (fields: Fields, status: number, method: string) => Shape>> = {
  rest,
  storage,
  auth,
  realtime: plain,
  functions: (fields) => ({
    ...plain(
      fields.code === "FUNCTION_NOT_FOUND"
        ? { ...fields, code: "NOT_FOUND", error: "Requested function was not found" }
        : fields
    ),
    // This header lets clients distinguish failures of the server from those of a function.
    headers: fields.code.startsWith("FUNCTIONS_") ? { "x-relay-error": "true" } : {}
  }),
  graphql: (fields) => ({ body: { ...plain(fields).body, errors: [{ message: fields.error }] } })
}

/** An error response of the service in the form that an API's clients read. */
export const shaped = (api: SupabaseApi, response: Response, method: string): Response => {
  const { body: sent, headers: given } = response
  if (sent._tag !== "Uint8Array" || given["content-type"]?.startsWith("application/json") !== true) return response
  const fields = JSON.parse(Buffer.from(sent.body).toString("utf8")) as Fields
  const { body, headers = {}, status = response.status } = shapes[api](fields, response.status, method)
  const text = HttpBody.text(JSON.stringify(body), "application/json")
  return HttpServerResponse.setHeaders(
    HttpServerResponse.setBody(HttpServerResponse.setStatus(response, status), text),
    {
      ...headers,
      "content-length": String(text.contentLength)
    }
  )
}

const unserved: Readonly<
  Record<Exclude<SupabaseApi, "rest">, readonly [code: ErrorCode, error: string, hint: string]>
> = {
  auth: ["NOT_FOUND", "This server does not serve this part of the sign-in API", "See docs/supabase.md"],
  storage: ["FeatureNotEnabled", "This server does not serve this part of the storage API", "See docs/supabase.md"],
  realtime: [
    "NOT_FOUND",
    "There is no such route of the channels API",
    "The WebSocket is /realtime/v1/websocket (docs/supabase.md)"
  ],
  functions: [
    "NOT_FOUND",
    "Requested function was not found",
    "Functions are at /functions/v1/<name> (docs/functions.md)"
  ],
  graphql: ["NOT_FOUND", "This server does not serve GraphQL", "Use /rest/v1"]
}

const isDecodable = (path: string) => {
  try {
    return decodeURIComponent(path) !== ""
  } catch {
    return false
  }
}

/** The refusal of a path that no route serves. */
export const notServed = (api: Exclude<SupabaseApi, "rest">, path: string): ClientError => {
  // The router finds no route for a path that it can't decode.
  if (!isDecodable(path)) return new InvalidRequest({ error: "The URL is not valid percent-encoded UTF-8" })
  const [code, error, hint] = unserved[api]
  // Clients of auth retry what has status 501.
  return api === "storage" ? new NotImplemented({ error, code, hint }) : new NotFound({ error, code, hint })
}
