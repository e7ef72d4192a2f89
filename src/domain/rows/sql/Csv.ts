import { quoteLiteral } from "../../sql/Names.ts"
import { csvLine } from "../../text/csv/Cell.ts"
import { type RowPlan } from "../plan/Plan.ts"

/**
 * CSV as SQL (RFC 4180): a cell is the text of its value, NULL is an empty cell, and the empty text is in quotes. COPY … CSV
 * and imports read the same values from it.
 */

/**
 * A row as a line. The text of a row has parentheses around its cells, quotes each that has a quote, comma, parenthesis,
 * backslash or white space, and doubles quotes, as CSV does, but backslashes too. Outside of quotes are no parentheses.
 */
const lineSql = (row: string) => `pg_catalog.replace(pg_catalog.btrim((${row}.*)::text, '()'), '\\\\', '\\')`

/**
 * Puts quotes around a text NULL, which the rules of `POST` would read as NULL. Every other part between quotes is
 * outside of them.
 */
const quotedNulls = (lines: string) =>
  `(select pg_catalog.string_agg(case when _svc_part.n % 2::int8 = 1::int8 then pg_catalog.regexp_replace(_svc_part.t, '(^|[,\\n])NULL(?=[,\\n]|$)', '\\1"NULL"', 'g') else _svc_part.t end, '"' order by _svc_part.n) from pg_catalog.unnest(pg_catalog.string_to_array(${lines}, '"')) with ordinality as _svc_part(t, n))`

const withNulls = (lines: string) =>
  `case when pg_catalog.strpos(${lines}, 'NULL') = 0 then ${lines} else ${quotedNulls(lines)} end`

/** The names of the columns; undefined if they are known only at run time. */
export const csvNames = ({ items, relation }: RowPlan): ReadonlyArray<string> | undefined =>
  items.some(({ _tag }) => _tag === "All") && relation === undefined
    ? undefined
    : items.flatMap((item) => (item._tag === "All" ? (relation?.columns ?? []).map(({ name }) => name) : [item.as]))

/** The line of the column names. */
export const csvHead = (rows: RowPlan) => csvLine(csvNames(rows) ?? [])

/** The names in the first row, if they are not determined before. */
const headSql = (row: string) =>
  `coalesce((select pg_catalog.string_agg(case when k ~ '[",\\n\\r\\\\]' or k = 'NULL' then '"' || pg_catalog.replace(k, '"', '""') || '"' else k end, ',') from pg_catalog.json_object_keys(pg_catalog.json_agg(${row}.*) -> 0) k), '')`

/** All rows of `row` as one text. `names`: of their columns. */
export const csvSql = (row: string, names: ReadonlyArray<string> | undefined) => {
  const lines = `pg_catalog.string_agg(${lineSql(row)}, E'\\n')`
  const head = names === undefined ? headSql(row) : quoteLiteral(csvLine(names))
  // An empty last line is a row with NULL in its only column, which needs an end to be one.
  const end =
    names === undefined || names.length < 2
      ? ` || case when ${lines} = '' or pg_catalog.right(${lines}, 1) = E'\\n' then E'\\n' else '' end`
      : ""
  return `${head} || E'\\n' || coalesce(${withNulls(lines)}${end}, '')`
}
