import { type Cause, Effect, Schema } from "effect"
import { type ErrorCode } from "./codes/ErrorCode.ts"

const nullable = <S extends Schema.Top>(schema: S) =>
  Schema.NullOr(schema).pipe(Schema.withConstructorDefault(Effect.succeed(null)))

/** A text to the wire, whose values the compiler checks. */
const Code = Schema.String as object as Schema.Literals<ReadonlyArray<ErrorCode>>

/**
 * The fields of every failed response. `error` is our contract's, the others are those that clients of PostgREST read;
 * http/front/ErrorBodies.ts adds `message` and `request_id`.
 */
const body = (code: ErrorCode) => ({
  error: Schema.String,
  code: Code.pipe(Schema.withConstructorDefault(Effect.succeed(code))),
  details: nullable(Schema.Json),
  hint: nullable(Schema.String)
})

interface Problem<Tag, Status> extends Cause.YieldableError {
  readonly _tag: Tag
  readonly status: Status
}

/** The base of an error class: its tag, its status, its default code, and fields of its own. */
const problem =
  <Self>() =>
  <const Tag extends string, const Status extends number, const Fields extends Schema.Struct.Fields = {}>(
    tag: Tag,
    status: Status,
    code: ErrorCode,
    fields?: Fields
  ) => {
    const shared = body(code)
    class Base extends Schema.Error<Base>(`svc/${tag}`)({ ...shared, ...fields }, { httpApiStatus: status }) {
      readonly _tag = tag
      readonly status = status

      /** For logs of what only a fault of ours can have led to. */
      override get message() {
        return `${this["code"]}: ${this["error"]}`
      }
    }
    // `Schema.Error` does not take a type parameter for the class that extends it.
    return Base as object as Schema.Class<Self, Schema.Struct<typeof shared & Fields>, Problem<Tag, Status>>
  }

/** Seconds after which a retry makes sense. */
const retryAfter = Schema.Int

/** The URL at which a browser continues. */
const redirectTo = { redirect_to: nullable(Schema.String) }

/** The request itself is wrong; sending it again unchanged fails again. `statement_index`: which statement of several. */
export class InvalidRequest extends problem<InvalidRequest>()("InvalidRequest", 400, "INVALID_REQUEST", {
  statement_index: Schema.optionalKey(Schema.Int)
}) {}

/** Credentials are missing, invalid or expired. */
export class Unauthorized extends problem<Unauthorized>()("Unauthorized", 401, "UNAUTHORIZED") {}

/** The credentials are valid, but do not allow this. */
export class Forbidden extends problem<Forbidden>()("Forbidden", 403, "FORBIDDEN") {}

/**
 * The session is valid, but too weak. `aal2_required`: a second factor is needed; `reauthentication_required`: the
 * sign-in is too old. `redirect_to` is where a browser completes the step.
 */
export class StepUpRequired extends problem<StepUpRequired>()("StepUpRequired", 403, "aal2_required", {
  ...redirectTo,
  /** The token of a new session that needs a second factor, for apps without cookies. */
  session_token: Schema.optionalKey(Schema.String)
}) {}

/** The record, table, function or route does not exist. */
export class NotFound extends problem<NotFound>()("NotFound", 404, "NOT_FOUND") {}

/** The requested representation (media type, schema) is not available. */
export class NotAcceptable extends problem<NotAcceptable>()("NotAcceptable", 406, "NOT_ACCEPTABLE") {}

/** The request's body takes too long to arrive. */
export class RequestTimeout extends problem<RequestTimeout>()("RequestTimeout", 408, "REQUEST_TIMEOUT") {}

/** The request conflicts with the current state. `retry_after` is set where waiting helps. */
export class Conflict extends problem<Conflict>()("Conflict", 409, "CONFLICT", {
  retry_after: Schema.optionalKey(retryAfter)
}) {}

/** The resource existed and is used up or expired. `redirect_to` is where a browser can start over, if anywhere. */
export class Gone extends problem<Gone>()("Gone", 410, "GONE", redirectTo) {}

/** The stored version differs from the caller's If-Match. */
export class PreconditionFailed extends problem<PreconditionFailed>()(
  "PreconditionFailed",
  412,
  "PRECONDITION_FAILED"
) {}

/** The body exceeds the size limit of its route. */
export class PayloadTooLarge extends problem<PayloadTooLarge>()("PayloadTooLarge", 413, "PAYLOAD_TOO_LARGE") {}

/** The route does not read bodies of this media type. */
export class UnsupportedMediaType extends problem<UnsupportedMediaType>()(
  "UnsupportedMediaType",
  415,
  "UNSUPPORTED_MEDIA_TYPE"
) {}

/** The request is valid, but its subject cannot be processed as it stands (a migration file, for example). */
export class Unprocessable extends problem<Unprocessable>()("Unprocessable", 422, "UNPROCESSABLE") {}

/** The key's rate limit is exceeded. */
export class TooManyRequests extends problem<TooManyRequests>()("TooManyRequests", 429, "RATE_LIMITED", {
  retry_after: retryAfter
}) {}

/** The service does not support this, whatever its configuration. */
export class NotImplemented extends problem<NotImplemented>()("NotImplemented", 501, "NOT_IMPLEMENTED") {}

/** A component behind the service does not answer, or answers nonsense. */
export class BadGateway extends problem<BadGateway>()("BadGateway", 502, "BAD_GATEWAY") {}

/** A component is down, starting, or at its capacity. */
export class Unavailable extends problem<Unavailable>()("Unavailable", 503, "UNAVAILABLE", {
  retry_after: retryAfter.pipe(Schema.withConstructorDefault(Effect.succeed(1)))
}) {}

/** A component behind the service did not answer in time. */
export class GatewayTimeout extends problem<GatewayTimeout>()("GatewayTimeout", 504, "GATEWAY_TIMEOUT") {}

/**
 * PostgreSQL rejected a statement of the caller. `code` is the SQLSTATE, and the status follows from it
 * (sql/States.ts). `position` is PostgreSQL's 1-based character position in the caller's SQL text, `statement_index` the
 * 0-based number of the statement that failed in a transaction. `headers` and `status_text` are set by user code that
 * raises its own response (rows/ResponseSettings.ts).
 */
export class DatabaseError extends Schema.Error<DatabaseError>("svc/DatabaseError")({
  ...body("XX000"),
  status: Schema.Int,
  position: Schema.optionalKey(Schema.Int),
  statement_index: Schema.optionalKey(Schema.Int),
  headers: Schema.optionalKey(Schema.Array(Schema.Tuple([Schema.String, Schema.String]))),
  status_text: Schema.optionalKey(Schema.String)
}) {
  readonly _tag = "DatabaseError"

  override get message() {
    return `${this.code}: ${this.error}`
  }
}

/** Every error class that a request can fail with. */
const clientErrors = [
  InvalidRequest,
  Unauthorized,
  Forbidden,
  StepUpRequired,
  NotFound,
  NotAcceptable,
  RequestTimeout,
  Conflict,
  Gone,
  PreconditionFailed,
  PayloadTooLarge,
  UnsupportedMediaType,
  Unprocessable,
  TooManyRequests,
  NotImplemented,
  BadGateway,
  Unavailable,
  GatewayTimeout,
  DatabaseError
] as const

export type ClientError = InstanceType<(typeof clientErrors)[number]>

export const isClientError = (error: unknown): error is ClientError =>
  clientErrors.some((type) => error instanceof type)
