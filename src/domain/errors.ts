import { Effect, Schema } from "effect"

/**
 * What every failed request answers. `error` is for readers of our contract, the next four for readers of
 * PostgREST clients; `message` and `request_id` are added where the answer is written (http/middleware/ErrorBodies.ts).
 */
const nullable = <S extends Schema.Top>(schema: S) =>
  Schema.NullOr(schema).pipe(Schema.withConstructorDefault(Effect.succeed(null)))

const body = <const Code extends string>(code: Code) => ({
  error: Schema.String,
  code: Schema.String.pipe(Schema.withConstructorDefault(Effect.succeed<string>(code))),
  details: nullable(Schema.Json),
  hint: nullable(Schema.String)
})

/** 400: the request itself is wrong; sending it again unchanged fails again. */
export class InvalidRequest extends Schema.Error<InvalidRequest>("svc/InvalidRequest")(body("INVALID_REQUEST"), {
  httpApiStatus: 400
}) {
  readonly _tag = "InvalidRequest"
  readonly status = 400
}

/** 401: no credentials, or credentials that are not (or no longer) good. */
export class Unauthorized extends Schema.Error<Unauthorized>("svc/Unauthorized")(body("UNAUTHORIZED"), {
  httpApiStatus: 401
}) {
  readonly _tag = "Unauthorized"
  readonly status = 401
}

/** 403: good credentials of the wrong class. */
export class Forbidden extends Schema.Error<Forbidden>("svc/Forbidden")(body("FORBIDDEN"), { httpApiStatus: 403 }) {
  readonly _tag = "Forbidden"
  readonly status = 403
}

/**
 * 403: a good session, but not enough of one. `aal2_required`: a second factor is due; `reauthentication_required`: it
 * was signed in too long ago. `redirect_to` is where a browser makes up for it.
 */
export class StepUpRequired extends Schema.Error<StepUpRequired>("svc/StepUpRequired")(
  { ...body("aal2_required"), redirect_to: nullable(Schema.String) },
  { httpApiStatus: 403 }
) {
  readonly _tag = "StepUpRequired"
  readonly status = 403
}

/** 404: no such record, table, function or route. */
export class NotFound extends Schema.Error<NotFound>("svc/NotFound")(body("NOT_FOUND"), { httpApiStatus: 404 }) {
  readonly _tag = "NotFound"
  readonly status = 404
}

/** 406: what the caller asked for can't be given in that form (media type, schema). */
export class NotAcceptable extends Schema.Error<NotAcceptable>("svc/NotAcceptable")(body("NOT_ACCEPTABLE"), {
  httpApiStatus: 406
}) {
  readonly _tag = "NotAcceptable"
  readonly status = 406
}

/** 409: good in itself, but not beside what is already there. `retry_after` in whole seconds, where waiting helps. */
export class Conflict extends Schema.Error<Conflict>("svc/Conflict")(
  { ...body("CONFLICT"), retry_after: Schema.optionalKey(Schema.Int) },
  { httpApiStatus: 409 }
) {
  readonly _tag = "Conflict"
  readonly status = 409
}

/** 410: it was there and is used up or expired. `redirect_to` is where a browser may start again, if anywhere. */
export class Gone extends Schema.Error<Gone>("svc/Gone")(
  { ...body("GONE"), redirect_to: nullable(Schema.String) },
  { httpApiStatus: 410 }
) {
  readonly _tag = "Gone"
  readonly status = 410
}

/** 412: what is stored is not what the caller's If-Match says. */
export class PreconditionFailed extends Schema.Error<PreconditionFailed>("svc/PreconditionFailed")(
  body("PRECONDITION_FAILED"),
  { httpApiStatus: 412 }
) {
  readonly _tag = "PreconditionFailed"
  readonly status = 412
}

/** 413: the body is over the size limit of its route. */
export class PayloadTooLarge extends Schema.Error<PayloadTooLarge>("svc/PayloadTooLarge")(body("PAYLOAD_TOO_LARGE"), {
  httpApiStatus: 413
}) {
  readonly _tag = "PayloadTooLarge"
  readonly status = 413
}

/** 415: the body is of a media type the route does not read. */
export class UnsupportedMediaType extends Schema.Error<UnsupportedMediaType>("svc/UnsupportedMediaType")(
  body("UNSUPPORTED_MEDIA_TYPE"),
  { httpApiStatus: 415 }
) {
  readonly _tag = "UnsupportedMediaType"
  readonly status = 415
}

/** 422: the request is good, but what it is about can't be done as it stands (a file of yours, say). */
export class Unprocessable extends Schema.Error<Unprocessable>("svc/Unprocessable")(body("UNPROCESSABLE"), {
  httpApiStatus: 422
}) {
  readonly _tag = "Unprocessable"
  readonly status = 422
}

/** 429: over the key's limit. `retry_after` in whole seconds. */
export class TooManyRequests extends Schema.Error<TooManyRequests>("svc/TooManyRequests")(
  { ...body("RATE_LIMITED"), retry_after: Schema.Int },
  { httpApiStatus: 429 }
) {
  readonly _tag = "TooManyRequests"
  readonly status = 429
}

/** 501: this service can't do it, however it is set up. */
export class NotImplemented extends Schema.Error<NotImplemented>("svc/NotImplemented")(body("NOT_IMPLEMENTED"), {
  httpApiStatus: 501
}) {
  readonly _tag = "NotImplemented"
  readonly status = 501
}

/** 502: a component of ours does not answer, or not in a way that makes sense. */
export class BadGateway extends Schema.Error<BadGateway>("svc/BadGateway")(body("BAD_GATEWAY"), {
  httpApiStatus: 502
}) {
  readonly _tag = "BadGateway"
  readonly status = 502
}

/** 503: a component is down, starting, or has no capacity left for now. `retry_after` in whole seconds. */
export class Unavailable extends Schema.Error<Unavailable>("svc/Unavailable")(
  { ...body("UNAVAILABLE"), retry_after: Schema.Int.pipe(Schema.withConstructorDefault(Effect.succeed(1))) },
  { httpApiStatus: 503 }
) {
  readonly _tag = "Unavailable"
  readonly status = 503
}

/** 504: a component of ours did not answer in time. */
export class GatewayTimeout extends Schema.Error<GatewayTimeout>("svc/GatewayTimeout")(body("GATEWAY_TIMEOUT"), {
  httpApiStatus: 504
}) {
  readonly _tag = "GatewayTimeout"
  readonly status = 504
}

/**
 * PostgreSQL refused a statement of the caller. The SQLSTATE is the `code`; the status follows from it
 * (domain/SqlState.ts). `position` is PostgreSQL's 1-based character position in the caller's own SQL text,
 * `statement_index` the 0-based number of the statement that failed in a transaction. `headers` and `status_text` are
 * what user code wants the answer to have beside its body (domain/RaisedAnswer.ts).
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
}

/** Any of them: what a request can fail with. */
export type ClientError =
  | InvalidRequest
  | Unauthorized
  | Forbidden
  | StepUpRequired
  | NotFound
  | NotAcceptable
  | Conflict
  | Gone
  | PreconditionFailed
  | PayloadTooLarge
  | UnsupportedMediaType
  | Unprocessable
  | TooManyRequests
  | NotImplemented
  | BadGateway
  | Unavailable
  | GatewayTimeout
  | DatabaseError
