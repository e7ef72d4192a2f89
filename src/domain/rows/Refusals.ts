import { DatabaseError, InvalidRequest, NotAcceptable, NotFound } from "../errors.ts"
import { shorten } from "../text/Shorten.ts"
import { similarNames } from "../text/SimilarNames.ts"

/** Errors of requests on rows, with PostgREST's codes and wording. */

/** `names`: the existing tables. */
export const noTable = (names: ReadonlyArray<string>, schema: string, table: string) => {
  const [other] = similarNames(names, table, 0.75)
  return new NotFound({
    error: `Could not find the table '${schema}.${table}' in the schema cache`,
    code: "PGRST205",
    hint: other === undefined ? null : `Perhaps you meant the table '${schema}.${other.name}'`
  })
}

export const unknownColumn = (table: string, column: string) =>
  new InvalidRequest({
    error: `Could not find the '${shorten(column)}' column of '${table}' in the schema cache`,
    code: "PGRST204"
  })

/** A single row was requested as an object. */
export const notSingle = (rows: number | string) =>
  new NotAcceptable({
    error: "Cannot coerce the result to a single JSON object",
    code: "PGRST116",
    details: `The result contains ${rows} rows`
  })

/** `Prefer: max-cell` adds a field, of which the rows must not have one already. */
export const cutNameTaken = () =>
  new InvalidRequest({
    error:
      "Prefer: max-cell can't be applied: the rows have a column named $cut, as the field that names the cut values",
    hint: "Rename the column in select, or send the request without max-cell"
  })

const tooMany = (rows: string) =>
  new InvalidRequest({
    error: "Query result exceeds max-affected preference constraint",
    code: "PGRST124",
    details: `The query affects ${rows} rows`
  })

/** PATCH and DELETE affect all matching rows: `limit` does not select among them, it is the most that may match. */
const limitExceeded = (rows: string) =>
  new InvalidRequest({
    error: `The filter matches ${rows} rows, more than the limit allows`,
    code: "LIMIT_NOT_ALLOWED",
    hint: "PATCH and DELETE affect every matching row. Select the rows in the filter, for example ?id=in.(1,2)"
  })

/** The answer is larger than `SVC_DB_MAX_RESPONSE_MIB` (128 MiB for service keys). */
export const resultTooLarge = () =>
  new DatabaseError({
    error: "The result exceeds the size that this server returns in one response",
    code: "RESULT_TOO_LARGE",
    status: 400,
    hint: "Select fewer columns or rows"
  })

/** The row of a PUT is not the one that the URL identifies. */
export const notMatching = () =>
  new InvalidRequest({ error: "Payload values do not match URL in primary key column(s)", code: "PGRST115" })

/**
 * A failing statement undoes its write. A check on a number, of rows or bytes, is therefore a cast of this text to a
 * number, and the error message contains the code of the check and that number.
 */
export const checkText = (code: "PGRST115" | "PGRST116" | "PGRST124" | "LIMIT_NOT_ALLOWED" | "RESULT_TOO_LARGE") =>
  `svc:${code}:`

const failed = /\bsvc:(PGRST115|PGRST116|PGRST124|LIMIT_NOT_ALLOWED|RESULT_TOO_LARGE):(\d+)/

const failureOf = (error: unknown) =>
  error instanceof DatabaseError && error.code === "22P02" ? failed.exec(error.error) : null

/** The error that the failure of a check of size stands for; any other error unchanged. */
export const sizeRefusal = <E>(error: E): E | DatabaseError =>
  failureOf(error)?.[1] === "RESULT_TOO_LARGE" ? resultTooLarge() : error

/** The error that the failure of a check of rows stands for; any other error unchanged. */
export const checkedRefusal = <E>(error: E): E | InvalidRequest | NotAcceptable => {
  const found = failureOf(error)
  if (found === null) return error
  const [, code, rows = ""] = found
  if (code === "PGRST124") return tooMany(rows)
  if (code === "LIMIT_NOT_ALLOWED") return limitExceeded(rows)
  return code === "PGRST116" ? notSingle(rows) : notMatching()
}
