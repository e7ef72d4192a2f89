import {
  type Catalogue,
  type Column,
  enumValues,
  type ForeignKey,
  labelColumn,
  type Table,
  tableOf
} from "../../catalogue/queries.ts"
import { nameText } from "../rows/keyset.ts"

/** A reference by one column, with the table that it names. */
export interface Reference extends ForeignKey {
  /** The name of the embedded row. */
  readonly alias: string
  readonly table: Table | undefined
  /** The column of the other table that is shown beside the key. */
  readonly label: string | undefined
}

export interface GridColumn extends Column {
  readonly key: boolean
  readonly foreign: Reference | undefined
  /** The labels of an enum, or of a boolean. */
  readonly values: ReadonlyArray<string> | undefined
  readonly width: number
}

/** A table or view and what the page knows about it. */
export interface Relation {
  readonly schema: string
  readonly name: string
  readonly table: Table | undefined
  readonly columns: ReadonlyArray<Column>
}

export const relationOf = (catalogue: Catalogue, schema: string, name: string): Relation | undefined => {
  const table = tableOf(catalogue, schema, name)
  if (table !== undefined) return { schema, name, table, columns: table.columns }
  const view = catalogue.views.find((one) => one.schema === schema && one.name === name)
  return view === undefined ? undefined : { schema, name, table: undefined, columns: view.columns }
}

const leastWidth = ({ name, type }: Column) => {
  if (/^(?:boolean|smallint)/.test(type)) return 96
  if (/^(?:integer|character\()/.test(type)) return 110
  // Numbers of 19 digits are whole.
  if (type === "bigint") return 176
  if (type === "uuid") return 290
  // With microseconds and the zone, which must be seen.
  if (type.startsWith("timestamp")) return 270
  return /^(?:jsonb?|text)/.test(type) && !/^(?:name|title|status)$/.test(name) ? 230 : 160
}

const widthOf = (column: Column) =>
  Math.max(column.name.length * 7.5 + Math.min(column.type.length, 12) * 6.5 + 44, leastWidth(column))

export const gridColumns = (
  catalogue: Catalogue,
  { columns, table }: Relation,
  widths: Readonly<Record<string, number>>,
  /** The columns of other tables that are shown beside references, where they were chosen. */
  labels: Readonly<Record<string, string>> = {}
): ReadonlyArray<GridColumn> =>
  columns.map((column, at) => {
    const key = table?.foreign_keys.find((one) => one.columns.length === 1 && one.columns[0] === column.name)
    const other = key === undefined ? undefined : tableOf(catalogue, key.references.schema, key.references.table)
    const chosen = other?.columns.find(({ name }) => name === labels[column.name])?.name
    const label = other === undefined ? undefined : (chosen ?? labelColumn(other))
    return {
      ...column,
      key: table?.primary_key.includes(column.name) ?? false,
      foreign: key === undefined ? undefined : { ...key, alias: `ref_${at}`, label, table: other },
      values: column.type === "boolean" ? ["true", "false"] : enumValues(catalogue, column.type),
      width: widths[column.name] ?? (key === undefined ? widthOf(column) : 200)
    }
  })

/** The columns of the other table by which its rows can be known. */
export const labelsOf = ({ table }: Reference): ReadonlyArray<string> =>
  (table?.columns ?? [])
    .filter(({ type }) => /^(?:text|character varying|citext|date)/.test(type))
    .map(({ name }) => name)

/** All columns, and the labels of the rows that they refer to. */
export const selectOf = (
  columns: ReadonlyArray<GridColumn>,
  { name: table, schema }: Pick<Relation, "name" | "schema">
): string =>
  [
    "*",
    ...columns.flatMap(({ foreign, name }) =>
      // An embed finds its table in the request's schema only.
      foreign?.label === undefined || foreign.references.schema !== schema
        ? []
        : [
            // Of a table that refers to itself, the name of the key has two directions, and that of its column one.
            `${foreign.alias}:${foreign.references.table === table ? nameText(name) : `${nameText(foreign.references.table)}!${nameText(foreign.name)}`}(${nameText(foreign.label)})`
          ]
    )
  ].join(",")

/** A row without what the page has read beside its columns. */
export const shownValues = (row: Readonly<Record<string, unknown>>, columns: ReadonlyArray<Column>) =>
  Object.fromEntries(columns.map(({ name }) => [name, row[name]]))

/** Columns whose values only the database makes. */
export const isMade = ({ generated, identity }: Pick<Column, "generated" | "identity">) =>
  generated !== null || identity === "always"

export const isNumeric = (type: string) =>
  /^(?:smallint|integer|bigint|numeric|real|double precision|money|oid)/.test(type)
export const isJson = (type: string) => /^jsonb?$/.test(type)
export const isMonospaced = (type: string) => /^(?:uuid|bytea|json|jsonb|inet|cidr|macaddr|tsvector|.*\[\])/.test(type)

const shortNames: Readonly<Record<string, string>> = {
  "timestamp with time zone": "timestamptz",
  "timestamp without time zone": "timestamp",
  integer: "int4",
  bigint: "int8",
  smallint: "int2",
  boolean: "bool",
  "double precision": "float8",
  "character varying": "varchar"
}

export const shortType = (type: string) =>
  shortNames[type] ?? type.replace("character varying", "varchar").replace(/^character\(/, "char(")
