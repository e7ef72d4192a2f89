import {
  BadGateway,
  Conflict,
  type DatabaseError,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  NotFound,
  Unavailable
} from "../../domain/errors.ts"

/** What a change of foreign data can fail with. */
export type ForeignFailure =
  | InvalidRequest
  | Forbidden
  | NotFound
  | Conflict
  | BadGateway
  | GatewayTimeout
  | Unavailable

/** Something of the name is there: also when somebody else made it in the same moment. */
export const isTaken = ({ code }: DatabaseError) => code === "42710" || code === "42P07" || code === "23505"

export const serverNotFound = (name: string) =>
  new NotFound({ error: `There is no foreign server ${name}`, code: "FOREIGN_SERVER_NOT_FOUND" })

/** PostgreSQL's own refusal, with the status of its SQLSTATE. What a wrapper (class HV) refuses is the request's fault. */
export const foreignFailure = (error: DatabaseError): ForeignFailure => {
  const { code, details, hint, status } = error
  const given = { error: error.error, code, details, hint }
  if (code === "42501") {
    return new Forbidden({
      error: error.error,
      code: "FOREIGN_NOT_ALLOWED",
      details,
      hint: "The role of service keys lacks a right. As an administrator: grant usage on foreign data wrapper or foreign server, or make the role their owner"
    })
  }
  if (status === 403) return new Forbidden(given)
  if (status === 404) return new NotFound(given)
  if (status === 409) return new Conflict(given)
  if (status === 503) return new Unavailable(given)
  if (status === 504) return new GatewayTimeout(given)
  return new InvalidRequest(given)
}

/** Words of PostgreSQL about who signs in, rather than about whether it can be reached. */
const aboutLogin =
  /password|authentication|pg_hba\.conf|(?:role|user) ".*" does not exist|database ".*" does not exist|permission denied|not permitted to log in/i

export const unreachable = (server: string, details: string | null) =>
  new BadGateway({
    error: `The foreign server ${server} can't be reached`,
    code: "FOREIGN_SERVER_UNREACHABLE",
    details,
    hint: "Look at its host and port, and whether it may be reached from where PostgreSQL runs"
  })

/** Why a foreign server let nobody in or has no such schema. */
export const connectFailure = (error: DatabaseError, server: string, schema: string): ForeignFailure => {
  const { code, details, error: text } = error
  const detail = typeof details === "string" ? details : null
  if (code === "57014") return unreachable(server, "No connection within 8 s")
  if (code === "08001" || code === "2F003") {
    if (code === "08001" && !aboutLogin.test(detail ?? "")) return unreachable(server, detail)
    return new InvalidRequest({
      error: `The foreign server ${server} does not let us in with the user mapping's user and password`,
      code: "FOREIGN_LOGIN_REFUSED",
      details: detail ?? text,
      hint: "Make the mapping anew: drop user mapping for … server … with SQL, then POST /api/fdw/user-mapping"
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
      hint: "Make one for current_user: POST /api/fdw/user-mapping"
    })
  }
  return foreignFailure(error)
}

/** Why tables could not be made as they are there. */
export const importFailure = (error: DatabaseError, server: string): ForeignFailure => {
  const { code, error: text } = error
  if (isTaken(error)) {
    return new Conflict({
      error: text,
      code: "FOREIGN_TABLE_EXISTS",
      hint: "Nothing was imported. Import into another schema, or drop what is there"
    })
  }
  if (code.startsWith("08")) return unreachable(server, text)
  const failure = foreignFailure(error)
  // A type, or the schema of one.
  if (code !== "42704" && code !== "3F000") return failure
  return new InvalidRequest({
    error: text,
    code,
    hint: "Nothing was imported. Make the type here first, or leave its tables out with SQL: import foreign schema … except (…) from server … into …"
  })
}
