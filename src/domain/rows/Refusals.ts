import { DatabaseError, InvalidRequest, NotAcceptable, NotFound } from "../errors.ts"
import { similarNames } from "../text/SimilarNames.ts"

/** What is refused of a request on rows, with the codes and wording that PostgREST's clients know. */

/** `names`: the tables that there are. */
export const noTable = (names: ReadonlyArray<string>, schema: string, table: string) => {
  const [other] = similarNames(names, table, 0.75)
  return new NotFound({
    error: `Could not find the table '${schema}.${table}' in the schema cache`,
    code: "PGRST205",
    hint: other === undefined ? null : `Perhaps you meant the table '${schema}.${other.name}'`
  })
}

/** One row was wanted, bare. */
export const notSingle = (rows: number | string) =>
  new NotAcceptable({
    error: "Cannot coerce the result to a single JSON object",
    code: "PGRST116",
    details: `The result contains ${rows} rows`
  })

const tooMany = (rows: string) =>
  new InvalidRequest({
    error: "Query result exceeds max-affected preference constraint",
    code: "PGRST124",
    details: `The query affects ${rows} rows`
  })

/** A PATCH or DELETE means all rows that match: `limit` picks none of them, but says how many there can be. */
const limitExceeded = (rows: string) =>
  new InvalidRequest({
    error: `The filter matches ${rows} rows, more than the limit allows`,
    code: "LIMIT_NOT_ALLOWED",
    hint: "PATCH and DELETE affect every matching row. Select the rows in the filter, for example ?id=in.(1,2)"
  })

/** PUT: the row is not the one that the URL names. */
export const notMatching = () =>
  new InvalidRequest({ error: "Payload values do not match URL in primary key column(s)", code: "PGRST115" })

/**
 * A write is undone by the failure of its statement: a check on the number of rows is written as a cast of this text
 * to a number, whose failure tells which check it was and how many rows there were.
 */
export const checkText = (code: "PGRST115" | "PGRST116" | "PGRST124" | "LIMIT_NOT_ALLOWED") => `svc:${code}:`

const failed = /\bsvc:(PGRST115|PGRST116|PGRST124|LIMIT_NOT_ALLOWED):(\d+)/

/** The refusal that the failure of a checked statement stands for; any other failure as it is. */
export const checkedRefusal = <E>(error: E): E | InvalidRequest | NotAcceptable => {
  const found = error instanceof DatabaseError && error.code === "22P02" ? failed.exec(error.error) : null
  if (found === null) return error
  const [, code, rows = ""] = found
  if (code === "PGRST124") return tooMany(rows)
  if (code === "LIMIT_NOT_ALLOWED") return limitExceeded(rows)
  return code === "PGRST116" ? notSingle(rows) : notMatching()
}
