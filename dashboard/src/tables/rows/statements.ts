import { qualifiedName as qualified, quoteName as quote, textLiteral } from "../../catalogue/names.ts"
import type { Table } from "../../catalogue/queries.ts"
import type { Edits, RowEdit } from "./edits.ts"
import { isCut, isFresh, isPlaced, keyOf, place, type Row } from "./identity.ts"
import { isJson } from "../grid/columns.ts"
import { valueText } from "./keyset.ts"

interface Statement {
  readonly sql: string
  readonly params: ReadonlyArray<string | null>
}

const text = (value: unknown) => (value === null || value === undefined ? null : valueText(value))

type Typed = Pick<Table, "columns">
const typeOf = ({ columns }: Typed, name: string) => columns.find((one) => one.name === name)?.type ?? ""
const elementOf = (type: string) => type.replace(/(?:\[\])+$/, "")
const isArrayOfJson = (type: string) => type.endsWith("[]") && isJson(elementOf(type))

const element = (text: string) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`

/** An array as PostgreSQL reads it; undefined if it has elements that only PostgreSQL can make of JSON. */
const arrayText = (value: ReadonlyArray<unknown>, json: boolean): string | undefined => {
  const parts = value.map((one) => {
    if (one === null) return "NULL"
    // Whether the array has more dimensions, or elements that are arrays, does not show: in JSON the latter is usual.
    if (json) return element(JSON.stringify(one))
    if (Array.isArray(one)) return arrayText(one, json)
    if (typeof one === "object") {
      const number = JSON.stringify(one)
      return /^[-\d]/.test(number) ? number : undefined
    }
    return typeof one === "string" ? element(one) : String(one)
  })
  return parts.includes(undefined) ? undefined : `{${parts.join(",")}}`
}

/** How a value is written: as a text that PostgreSQL reads as its type, or as JSON that it makes the value of. */
const writtenAs = (type: string, value: unknown): { readonly text: string | null } | { readonly json: string } => {
  if (value === null || value === undefined) return { text: null }
  if (isJson(type)) return { text: JSON.stringify(value) }
  if (typeof value !== "object") return { text: String(value) }
  const array = Array.isArray(value) && type.endsWith("[]") ? arrayText(value, isJson(elementOf(type))) : undefined
  return array === undefined ? { json: JSON.stringify(value) } : { text: array }
}

/** The value of a column. `write`: a parameter, or a literal. */
const assigned = (table: Table, name: string, value: unknown, write: (text: string | null) => string): string => {
  const as = writtenAs(typeOf(table, name), value)
  if ("text" in as) return write(as.text)
  const row = write(`{${JSON.stringify(name)}: ${as.json}}`)
  return `(select x.${quote(name)} from json_populate_record(null::${qualified(table)}, ${row}) x)`
}

/** Whether a column still has the value that was read. JSON has no other NULL than its own. */
const unchanged = (table: Table, name: string, value: unknown, param: (text: string) => string) => {
  const json = JSON.stringify({ [name]: value ?? null })
  const old = isArrayOfJson(typeOf(table, name))
    ? `to_jsonb(${param(json)}::json -> ${param(name)}::text)`
    : `to_jsonb((select x.${quote(name)} from json_populate_record(null::${qualified(table)}, ${param(json)}) x))`
  return `coalesce(to_jsonb(${quote(name)}), 'null') = coalesce(${old}, 'null')`
}

/** `/v1/sql/transaction` takes this many. */
const maxStatements = 20

/** In this order, a row can take the key of one that is deleted. */
const kinds = ["delete", "update", "insert"] as const

const kindOf = ({ deleted, row }: RowEdit): (typeof kinds)[number] =>
  deleted === true ? "delete" : isFresh(row) ? "insert" : "update"

/** The rows of each statement. */
const planOf = (edits: Edits): ReadonlyArray<ReadonlyArray<RowEdit>> => {
  const byKind = Map.groupBy(edits.values(), kindOf)
  const most = Math.floor(maxStatements / Math.max(1, byKind.size))
  return kinds.flatMap((kind) => {
    const rows = byKind.get(kind) ?? []
    const size = Math.ceil(rows.length / most)
    return Array.from({ length: size === 0 ? 0 : Math.ceil(rows.length / size) }, (_, at) =>
      rows.slice(at * size, (at + 1) * size)
    )
  })
}

type Param = (value: string | null) => string

/** By which a row is found, and what must be as it was read. */
const foundBy = (table: Table, { deleted, row, values }: RowEdit, param: Param) => {
  const keys = keyOf(table).map((name) => `${quote(name)} = ${param(text(row[name]))}`)
  const read = isPlaced(table) || deleted === true ? table.columns.map(({ name }) => name) : Object.keys(values)
  const kept = read
    .filter((name) => !table.primary_key.includes(name) && !isCut(row, name))
    .map((name) => unchanged(table, name, row[name], param))
  return [...keys, ...kept].join(" and ")
}

const changeSql = (table: Table, edit: RowEdit, param: Param) => {
  if (edit.deleted === true) return `delete from ${qualified(table)} where ${foundBy(table, edit, param)} returning 1`
  const set = Object.entries(edit.values).map(
    ([name, value]) => `${quote(name)} = ${assigned(table, name, value, param)}`
  )
  return `update ${qualified(table)} set ${set.join(", ")} where ${foundBy(table, edit, param)} returning 1`
}

/** New rows. A column without a value has its default. */
const insertSql = (table: Table, rows: ReadonlyArray<RowEdit>, write: Param) => {
  const names = Array.from(new Set(rows.flatMap(({ values }) => Object.keys(values))))
  const tuples = rows.map(
    ({ values }) =>
      `(${names.map((name) => (name in values ? assigned(table, name, values[name], write) : "default")).join(", ")})`
  )
  return `insert into ${qualified(table)} (${names.map(quote).join(", ")})\nvalues ${tuples.join(",\n  ")}`
}

/**
 * The changes as statements of one transaction. Each row must still have the values that were read, or the transaction
 * fails with 22P02 and a text that names the row's position among the edits: see `conflictOf`.
 */
export const saveStatements = (table: Table, edits: Edits): ReadonlyArray<Statement> => {
  let before = 0
  return planOf(edits).map((rows) => {
    const from = before
    before += rows.length
    const params: Array<string | null> = []
    const param: Param = (value) => `$${params.push(value)}`
    if (isFresh(rows[0]?.row ?? {})) return { sql: insertSql(table, rows, param), params }
    const changes = rows.map((edit, at) => `u${at} as (${changeSql(table, edit, param)})`)
    const checks = rows.map(
      (_, at) =>
        `case (select count(*) from u${at}) when 1 then 1 else ('changed-row-${from + at}-' || (select count(*) from u${at})::text)::int end`
    )
    return { sql: `with ${changes.join(", ")} select unnest(array[${checks.join(", ")}])`, params }
  })
}

/** `/v1/sql/transaction` takes bodies of this many bytes. */
const maxBody = 1024 * 1024

/** Why one transaction can't save so much, and what to do; undefined if it can. A change has its old value and its new one. */
export const sizeProblem = (statements: ReadonlyArray<Statement>, table: Pick<Table, "name">): string | undefined => {
  const { size } = new Blob([JSON.stringify({ statements })])
  if (size <= maxBody) return undefined
  const mib = (size / maxBody).toFixed(1)
  return `With the old values, the changes are ${mib} MiB, and one transaction takes 1 MiB. They are kept: save fewer at once. A single value of this size is saved by a CSV file that updates its row, or by PATCH /v1/db/${table.name}, which takes 10 MiB.`
}

const conflict = /"changed-row-(\d+)-\d+"/

/** Whether a statement failed because a row was changed or deleted by another user since it was read. */
export const isConflict = (message: string) => conflict.test(message)

/** The row that was changed or deleted by another user since it was read, if that is why saving failed. */
export const conflictOf = (message: string, edits: Edits): RowEdit | undefined => {
  const found = conflict.exec(message)
  return found === null ? undefined : planOf(edits).flat()[Number(found[1])]
}

/** The rows of a statement of `saveStatements`, by its place. */
export const rowsOf = (edits: Edits, statement: number): ReadonlyArray<RowEdit> => planOf(edits)[statement] ?? []

/** Reads a value as its type, and writes nothing. */
export const probeOf = (table: Table, name: string, value: unknown): Statement => {
  const params: Array<string | null> = []
  const type = typeOf(table, name)
  const read = assigned(table, name, value, (one) => `$${params.push(one)}`)
  return { sql: `select cast(${read} as ${type})`, params }
}

/** Characters of a value that are shown: browsers need seconds to lay out a megabyte. */
const shown = 2000

const literal = (text: string | null) => (text === null ? "null" : textLiteral(text))
const cutLiteral = (text: string | null) =>
  text === null || text.length <= shown
    ? literal(text)
    : `${literal(text.slice(0, shown).toWellFormed())} /* of ${text.length.toLocaleString("en")} characters; the copy has all */`

/** The changes as SQL that does the same as saving them. `whole`: with values of any length. */
export const reviewSql = (table: Table, edits: Edits, whole: boolean): string => {
  const write = whole ? literal : cutLiteral
  return planOf(edits)
    .flat()
    .map((edit) => {
      if (isFresh(edit.row)) return `${insertSql(table, [edit], write)};`
      const where = keyOf(table).map((name) => `${quote(name)} = ${write(text(edit.row[name]))}`)
      if (edit.deleted === true) return `delete from ${qualified(table)}\nwhere ${where.join(" and ")};`
      const set = Object.entries(edit.values).map(
        ([name, value]) => `${quote(name)} = ${assigned(table, name, value, write)}`
      )
      return `update ${qualified(table)}\nset ${set.join(",\n    ")}\nwhere ${where.join(" and ")};`
    })
    .join("\n\n")
}

/** Deletes rows, however many, in one statement: by their keys, or by their places if they are as they were read. */
export const deleteStatement = (table: Table, rows: ReadonlyArray<Row>): Statement => {
  const name = qualified(table)
  if (isPlaced(table)) {
    const wanted = rows.map((row) => ({
      place: row[place],
      row: Object.fromEntries(table.columns.map(({ name }) => [name, row[name] ?? null]))
    }))
    return {
      sql: `with d as (delete from ${name} t using json_to_recordset($1) as x(place tid, row json)
where t.ctid = x.place and to_jsonb(t) = to_jsonb(json_populate_record(null::${name}, x.row)) returning 1)
select case (select count(*) from d) when ${rows.length} then 1 else ('changed-row-0-' || (select count(*) from d)::text)::int end`,
      params: [JSON.stringify(wanted)]
    }
  }
  const keys = table.primary_key.map(quote).join(", ")
  const wanted = rows.map((row) => Object.fromEntries(table.primary_key.map((name) => [name, row[name] ?? null])))
  return {
    sql: `delete from ${name} where (${keys}) in (select ${keys} from json_populate_recordset(null::${name}, $1))`,
    params: [JSON.stringify(wanted)]
  }
}
