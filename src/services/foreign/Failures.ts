import { Effect } from "effect"
import {
  BadGateway,
  Conflict,
  DatabaseError,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  NotFound,
  Unavailable
} from "../../domain/errors.ts"

/** The errors of operations on foreign data. */
export type ForeignFailure =
  | InvalidRequest
  | Forbidden
  | NotFound
  | Conflict
  | BadGateway
  | GatewayTimeout
  | Unavailable

/** An object of the same name exists, possibly created concurrently. */
export const isTaken = ({ code }: DatabaseError) => code === "42710" || code === "42P07" || code === "23505"

export const serverNotFound = (name: string) =>
  new NotFound({ error: `Foreign server ${name} does not exist`, code: "FOREIGN_SERVER_NOT_FOUND" })

/** PostgreSQL's own error, with the status of its SQLSTATE. Errors of a wrapper (class HV) are the caller's fault. */
export const foreignFailure = (error: DatabaseError): ForeignFailure => {
  const { code, details, hint, status } = error
  const given = { error: error.error, code, details, hint }
  if (code === "42501") {
    return new Forbidden({
      error: error.error,
      code: "FOREIGN_NOT_ALLOWED",
      details,
      hint: "The role of service keys lacks a privilege. As an administrator, grant it usage on the foreign data wrapper or foreign server, or make it their owner"
    })
  }
  if (status === 403) return new Forbidden(given)
  if (status === 404) return new NotFound(given)
  if (status === 409) return new Conflict(given)
  if (status === 503) return new Unavailable(given)
  if (status === 504) return new GatewayTimeout(given)
  return new InvalidRequest(given)
}

/** Messages of PostgreSQL about a rejected login, as opposed to an unreachable server. */
const aboutLogin =
  /password|authentication|pg_hba\.conf|(?:role|user) ".*" does not exist|database ".*" does not exist|permission denied|not permitted to log in/i

export const unreachable = (server: string, details: string | null) =>
  new BadGateway({
    error: `The foreign server ${server} can't be reached`,
    code: "FOREIGN_SERVER_UNREACHABLE",
    details,
    hint: "Check its host and port, and whether the machine that runs PostgreSQL can reach it"
  })

/** Why a connection to a foreign server failed, or its schema was not found. */
export const connectFailure = (error: DatabaseError, server: string, schema: string): ForeignFailure => {
  const { code, details, error: text } = error
  const detail = typeof details === "string" ? details : null
  if (code === "57014") return unreachable(server, "No connection within 8 s")
  if (code === "08001" || code === "2F003") {
    if (code === "08001" && !aboutLogin.test(detail ?? "")) return unreachable(server, detail)
    return new InvalidRequest({
      error: `The foreign server ${server} rejected the user, password or database of the user mapping`,
      code: "FOREIGN_LOGIN_REFUSED",
      details: detail ?? text,
      hint: "Recreate the mapping: DELETE /api/fdw/server/{server}/user-mapping/{local_user}, then POST /api/fdw/user-mapping"
    })
  }
  if (code.startsWith("08")) return unreachable(server, text)
  if (code === "HV00Q") {
    return new NotFound({
      error: `The foreign server ${server} has no schema ${schema}`,
      code: "FOREIGN_SCHEMA_NOT_FOUND"
    })
  }
  if (code === "42704" && text.startsWith("user mapping not found")) {
    return new NotFound({
      error: text,
      code: "USER_MAPPING_NOT_FOUND",
      hint: "Create one for current_user: POST /api/fdw/user-mapping"
    })
  }
  return foreignFailure(error)
}

/** Why the foreign tables could not be created. */
export const importFailure = (error: DatabaseError, server: string): ForeignFailure => {
  const { code, error: text } = error
  if (isTaken(error)) {
    return new Conflict({
      error: text,
      code: "FOREIGN_TABLE_EXISTS",
      hint: "Nothing was imported. Import into another schema, or drop the existing table"
    })
  }
  if (code.startsWith("08")) return unreachable(server, text)
  const failure = foreignFailure(error)
  // Undefined object or schema: a type of a column does not exist here.
  if (code !== "42704" && code !== "3F000") return failure
  return new InvalidRequest({
    error: text,
    code,
    hint: "Nothing was imported. Create the type here first, or exclude its tables with SQL: import foreign schema … except (…) from server … into …"
  })
}

/** Maps PostgreSQL's errors by `map`, or to their general failure where `map` returns undefined. */
export const asForeignFailure =
  (map: (error: DatabaseError) => ForeignFailure | undefined) =>
  <A, E, R>(effect: Effect.Effect<A, E | DatabaseError, R>) =>
    Effect.catchIf(
      effect,
      (error): error is DatabaseError & (E | DatabaseError) => error instanceof DatabaseError,
      (error) => Effect.fail(map(error) ?? foreignFailure(error))
    ) as Effect.Effect<A, Exclude<E, DatabaseError> | ForeignFailure, R>

/** The error without any text that contains the secret. */
export const without = (error: DatabaseError, secret: string): DatabaseError => {
  const holds = (value: unknown) => secret !== "" && typeof value === "string" && value.includes(secret)
  const { code, details, hint, status } = error
  return new DatabaseError({
    error: holds(error.error) ? "PostgreSQL rejected the statement" : error.error,
    code,
    status,
    details: holds(details) ? null : details,
    hint: holds(hint) ? null : hint
  })
}
