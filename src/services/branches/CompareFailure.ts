import {
  Conflict,
  type DatabaseError,
  Forbidden,
  GatewayTimeout,
  type InvalidRequest,
  type NotFound,
  Unavailable,
  Unprocessable
} from "../../domain/errors.ts"

/** Why a branch can't be compared. */
export type CompareFailure =
  | NotFound
  | Forbidden
  | Conflict
  | Unavailable
  | Unprocessable
  | InvalidRequest
  | GatewayTimeout

/** PostgreSQL's own error. One that a row or a trigger has caused is not a fault of the service, whatever its SQLSTATE. */
export const compareFailure = ({ code, details, error, hint, status }: DatabaseError): CompareFailure => {
  const given = { error, code, details, hint }
  if (status === 403) {
    return new Forbidden({
      ...given,
      hint:
        hint ??
        "Comparisons run as the role of service keys: it needs the privileges, and must bypass row-level security"
    })
  }
  if (status === 409) return new Conflict(given)
  if (status === 503) return new Unavailable(given)
  if (status === 504) return new GatewayTimeout(given)
  return new Unprocessable(given)
}
