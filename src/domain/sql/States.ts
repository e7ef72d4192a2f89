/**
 * HTTP status of a PostgreSQL error, by its SQLSTATE (docs/errors.md has the table).
 * The same as PostgREST's, except where that is a 5xx for errors caused by the request or by concurrency: serialization
 * failures, deadlocks and lock timeouts are 409; invalid parameters, exceeded limits, transaction control where there can
 * be none, and operations that an object does not support (a view that is not updatable) are 400; timeouts are 504.
 */
const exact: Readonly<Record<string, number>> = {
  "08P01": 400,
  "21000": 500,
  // A sequence has no more numbers, which its owner has to change.
  "2200H": 500,
  "23001": 409,
  "23503": 409,
  "23505": 409,
  "25006": 405,
  // The transaction idled, or lasted, for too long.
  "25P03": 504,
  "25P04": 504,
  "40000": 409,
  "40001": 409,
  "40P01": 409,
  "42501": 403,
  "42883": 404,
  "42P01": 404,
  "42P17": 500,
  "53400": 500,
  "55006": 409,
  "55P03": 409,
  "57014": 504,
  "57P01": 503,
  "57P02": 503,
  "57P03": 503,
  "57P04": 503,
  "57P05": 503,
  P0001: 400
}

/** Statuses by class (first two characters); a SQLSTATE in neither table is 400. */
const byClass: Readonly<Record<string, number>> = {
  "08": 503,
  "09": 500,
  "0L": 403,
  "0P": 403,
  "0Z": 500,
  "28": 403,
  "2F": 500,
  "38": 500,
  "39": 500,
  "40": 500,
  "53": 503,
  "54": 400,
  "55": 400,
  "57": 500,
  "58": 500,
  "72": 503,
  F0: 500,
  HV: 500,
  P0: 500,
  XX: 500
}

/** 42883 for a missing operator or sort order is an invalid request, unlike a missing function (404). */
const missingOperator = /^(operator does not exist|could not identify an? )/

/** A function may raise `PTnnn` to set status nnn. */
const chosenByFunction = /^PT([2-5]\d\d)$/

/** 21000 caused by the request: a change without a filter where that is prevented, and duplicate rows to merge. */
const callersRows = /requires a WHERE clause|^ON CONFLICT DO UPDATE command cannot affect row a second time/

/** XX000 caused by a value that PostgreSQL cannot work on, such as a regular expression with nested repetitions. */
const tooMuchMemory = /^invalid memory alloc request size/

/** `anonymous`: the caller sent no JWT, so that a missing privilege is 401 instead of 403. */
export const statusOf = (sqlState: string, message: string, anonymous: boolean): number => {
  const chosen = chosenByFunction.exec(sqlState)
  if (chosen) return Number(chosen[1])
  // The mistake of the function's author.
  if (sqlState.startsWith("PT")) return 500
  if (sqlState === "42501" && anonymous) return 401
  if (sqlState === "21000" && callersRows.test(message)) return 400
  if (sqlState === "XX000" && tooMuchMemory.test(message)) return 400
  if (sqlState === "42883" && missingOperator.test(message)) return 400
  return exact[sqlState] ?? byClass[sqlState.slice(0, 2)] ?? 400
}

/**
 * Classes of errors of the server itself, whatever it was asked: resources, operators, the system, its configuration. Files
 * that do not exist, exist, or have a long name (58P01 to 58P03) are those that a statement names.
 */
const serversOwn = /^(53|57|58(?!P0)|F0|XX)/

/**
 * The status for a statement that the caller wrote: every error that SQL can cause is the caller's, even where it would
 * be the database's fault in a function or trigger behind `/v1/db` (no data found, a failed assertion, a subquery with
 * several rows).
 */
export const statusOfOwnSql = (sqlState: string, message: string): number => {
  const status = statusOf(sqlState, message, false)
  return status === 500 && !serversOwn.test(sqlState) && !chosenByFunction.test(sqlState) ? 400 : status
}
