import { HttpApiSchema } from "effect/http-api"
import {
  BadGateway,
  Conflict,
  Forbidden,
  GatewayTimeout,
  Gone,
  InvalidRequest,
  NotFound,
  NotImplemented,
  StepUpRequired,
  TooManyRequests,
  Unauthorized,
  Unavailable
} from "../../domain/errors.ts"
import { ErrorBody } from "../wire/ErrorBodies.ts"

const ofStatus = (status: number) => ErrorBody.pipe(HttpApiSchema.status(status))

/** The error statuses of every call of the client API (docs/errors.md has the codes). */
export const clientErrors = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 429, 500, 503, 504].map(ofStatus)

/** Further statuses of row reads: an ambiguous embed or function, and a range beyond the last row. */
export const rowErrors = [...clientErrors, ...[300, 416].map(ofStatus)]

/** The errors of an import, whose body may stop arriving. */
export const importErrors = [...clientErrors, ofStatus(408)]

/** The errors of every call that asks an identity provider. */
export const identityErrors = [
  InvalidRequest,
  Unauthorized,
  Forbidden,
  StepUpRequired,
  NotFound,
  Conflict,
  Gone,
  TooManyRequests,
  Unavailable,
  BadGateway,
  GatewayTimeout
] as const

/** The errors of calls that only the embedded identity provider supports. */
export const accountErrors = [...identityErrors, NotImplemented] as const
