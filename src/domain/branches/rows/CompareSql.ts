import { quoteName } from "../../sql/Names.ts"
import { keyFormOf } from "./KeyOrder.ts"
import { type TablePair } from "./TablePair.ts"
import { type TableColumn, type TableShape } from "./TableSql.ts"

/**
 * Both databases write values alike: names of types and tables are complete, and texts do not depend on settings. With
 * `row_security` off, PostgreSQL fails instead of hiding rows. Times in ms.
 */
export const comparisonSettings = (statementTimeout: number) => {
  const settings = {
    search_path: "",
    TimeZone: "UTC",
    DateStyle: "ISO, YMD",
    IntervalStyle: "postgres",
    extra_float_digits: "1",
    bytea_output: "hex",
    lc_monetary: "C",
    row_security: "off",
    cursor_tuple_fraction: "1",
    lock_timeout: "10000",
    statement_timeout: String(statementTimeout)
  }
  return `select ${Object.entries(settings)
    .map(([name, value]) => `pg_catalog.set_config('${name}', '${value}', true)`)
    .join(", ")}`
}

/** Settings of the comparison that code of triggers would notice; the values that are written do not depend on them. */
export const callersSettings = ["search_path", "TimeZone", "DateStyle", "row_security"] as const

const nameOf = ({ schema, table }: TableShape) => `${quoteName(schema)}.${quoteName(table)}`
/** Rows of the table itself, not of those that inherit from it; a partitioned table has none of its own. */
const only = (table: TableShape) => `${table.kind === "p" ? "" : "only "}${nameOf(table)}`
const column = ({ name }: TableColumn) => `t.${quoteName(name)}`
const textOf = (given: TableColumn) => `${column(given)}::text`

const shapeOf = (table: TableShape, { name }: TableColumn) => table.columns.find((one) => one.name === name)

/** An array of the texts of all compared columns, in whose own text NULL differs from any value. */
const valuesOf = ({ columns }: TablePair) => `array[${columns.map(textOf).join(", ")}]`
const hashOf = (pair: TablePair) => `pg_catalog.md5(${valuesOf(pair)}::text)`

const keyText = (given: TableColumn) =>
  keyFormOf(given)?.sorted === "trimmed" ? `pg_catalog.trim_scale(${column(given)})::text` : textOf(given)

/** What a column of the key is sorted by, and the same of a parameter. A plain column can use its index. */
const sortOf = (
  table: TableShape,
  given: TableColumn
): readonly [sorted: string, parameter: (at: number) => string] => {
  const { cast = "text", sorted } = keyFormOf(given) ?? {}
  if (sorted === "own") return [column(given), (at) => `$${at}::${cast}`]
  const text = keyText(given)
  if (!table.utf8)
    return [`pg_catalog.convert_to(${text}, 'UTF8')`, (at) => `pg_catalog.convert_to($${at}::text, 'UTF8')`]
  const byBytes = sorted === "bytes" && shapeOf(table, given)?.by_bytes === true
  return [byBytes ? text : `(${text}) collate "C"`, (at) => `$${at}::text`]
}

/** A cursor over the keys and hashes of a table, by key; `after`: behind the key of the parameters. */
export const sortedKeysSql = (pair: TablePair, table: TableShape, after: boolean) => {
  const sorts = pair.keyColumns.map((one) => sortOf(table, one))
  const behind = after
    ? `where (${sorts.map(([sorted]) => sorted).join(", ")}) > (${sorts.map(([, at], i) => at(i + 1)).join(", ")})`
    : ""
  return `declare svc_rows no scroll cursor for
    select ${pair.keyColumns.map(keyText).join(", ")}, ${hashOf(pair)} from ${only(table)} t ${behind}
    order by ${sorts.map(([sorted]) => sorted).join(", ")}`
}

export const fetchSql = (rows: number) => `fetch ${rows} from svc_rows`
export const closeSql = "close svc_rows"

/** The rows of the keys in $1, a JSON array of arrays of text, each with its place in $1. */
const rowsOf = ({ keyColumns }: TablePair, table: TableShape) =>
  `from pg_catalog.json_array_elements($1::text::json) with ordinality r (v, at)
   join ${only(table)} t on ${keyColumns.map((one, i) => `${column(one)} = (r.v->>${i})::${one.type}`).join(" and ")}`

/** Characters of a value that a comparison shows. */
const maxShown = 2_048

/** Place, values up to a length as a JSON array, and the hashes of those that are longer. */
export const shownSql = (pair: TablePair, table: TableShape) => {
  const shown = pair.columns.map((one) => `pg_catalog."left"(${textOf(one)}, ${maxShown})`)
  const long = pair.columns.map(
    (one) => `case when pg_catalog.length(${textOf(one)}) > ${maxShown} then pg_catalog.md5(${textOf(one)}) end`
  )
  return `select r.at, pg_catalog.to_json(array[${shown.join(", ")}])::text, pg_catalog.to_json(array[${long.join(", ")}])::text
    ${rowsOf(pair, table)}`
}

/** Place, hash and size of rows. `lock`: no one else changes them until the transaction ends. */
export const hashesSql = (pair: TablePair, table: TableShape, lock: boolean) =>
  `select r.at, ${hashOf(pair)}, pg_catalog.octet_length(${valuesOf(pair)}::text)
   ${rowsOf(pair, table)} order by r.at ${lock ? "for update of t" : ""}`

/** Place and values of rows, as a JSON array. */
export const valuesSql = (pair: TablePair, table: TableShape) =>
  `select r.at, pg_catalog.to_json(${valuesOf(pair)})::text ${rowsOf(pair, table)} order by r.at`

const valueAt = ({ columns }: TablePair) => columns.map(({ type }, i) => `(r.v->>${i})::${type}`)

/** Inserts the rows of $1, a JSON array of arrays of texts in the order of the pair's columns. */
export const insertSql = (pair: TablePair) =>
  `insert into ${nameOf(pair.main)} (${pair.columns.map(({ name }) => quoteName(name)).join(", ")})
   ${pair.columns.some(({ identity }) => identity) ? "overriding system value" : ""}
   select ${valueAt(pair).join(", ")} from pg_catalog.json_array_elements($1::text::json) with ordinality r (v, at)
   order by r.at`

/** Changes the rows of $1, which has the same form, by their keys. */
export const updateSql = (pair: TablePair) => {
  const values = valueAt(pair)
  const isKey = ({ name }: TableColumn) => pair.key.columns.includes(name)
  const set = pair.columns.flatMap((one, i) => (isKey(one) ? [] : [`${quoteName(one.name)} = ${values[i]}`]))
  const where = pair.columns.flatMap((one, i) => (isKey(one) ? [`${column(one)} = ${values[i]}`] : []))
  return `update ${only(pair.main)} t set ${set.join(", ")}
    from pg_catalog.json_array_elements($1::text::json) r (v) where ${where.join(" and ")}`
}

/** Deletes the rows of the keys in $1. */
export const deleteSql = ({ keyColumns, main }: TablePair) =>
  `delete from ${only(main)} t using pg_catalog.json_array_elements($1::text::json) r (v)
   where ${keyColumns.map((one, i) => `${column(one)} = (r.v->>${i})::${one.type}`).join(" and ")}`

/** The step of sequence $1, its last value, its maximum, and the largest number of $3's rows in place $2. */
export const sequenceSql = `select s.seqincrement::text,
    coalesce(pg_catalog.pg_sequence_last_value(s.seqrelid), s.seqstart - s.seqincrement)::text, s.seqmax::text,
    (select max((r.v->>$2::int)::int8)::text from pg_catalog.json_array_elements($3::text::json) r (v))
  from pg_catalog.pg_sequence s where s.seqrelid = $1::text::regclass`
/** Takes $2 numbers of a sequence. */
export const takeNumbersSql = `select max(pg_catalog.nextval($1::text::regclass)) from pg_catalog.generate_series(1, $2::int)`
export const setSequenceSql = "select pg_catalog.setval($1::text::regclass, $2::int8)"
