import { checkText } from "../Refusals.ts"
import { type RowScope } from "./Scope.ts"

/**
 * The setting with the most bytes that an answer may have. The row path sets it for each role when it opens a
 * connection. Statements check it where PostgreSQL would otherwise build far larger values before the service receives
 * the first byte, or where the service could only refuse an answer after the write was committed.
 */
export const maxAnswerSetting = "svc.max_answer"

const most = `pg_catalog.current_setting('${maxAnswerSetting}', true)`
/** The planner evaluates constants even in a branch that is never taken, which this is not. */
const failing = `('${checkText("RESULT_TOO_LARGE")}' || ${most})::int::text`

/** `value`, of the type; fails with `RESULT_TOO_LARGE` if `size` exceeds the limit. */
const limited = (value: string, size: string, type: "text" | "json") =>
  `case when ${size} > ${most}::int8 then ${failing}::${type} else ${value} end`

/** A text, if it is not too large. */
export const limitedText = (text: string) => limited(text, `pg_catalog.octet_length(${text})`, "text")

/** A value as JSON, unless the value alone is too large: its JSON takes several times its memory. */
export const limitedJson = (value: string) =>
  limited(`pg_catalog.to_json(${value})`, `pg_catalog.pg_column_size(${value})`, "json")

/**
 * Rows as JSON objects, in a column `j`. Fails at the first row with which they are too large together, so that nested
 * arrays, whose sizes multiply, are not built any further. `rows`: a subselect.
 */
export const limitedRows = (rows: string, scope: RowScope): string => {
  const [row, object] = [scope.alias("_svc_each"), scope.alias("_svc_object")]
  const size = `pg_catalog.sum(pg_catalog.pg_column_size(${object}.j)) over (rows unbounded preceding)`
  return `(select ${limited(`${object}.j`, size, "json")} as j from (select pg_catalog.row_to_json(${row}.*) as j from ${rows} ${row}) ${object})`
}
