import type { Catalogue, Column, Table } from "../catalogue/queries.ts"
import { exampleOf, isRequired, isWritable, jsOf, type Row, textOf } from "./values.ts"

/** One request, whatever client it is written for. */
export interface Call {
  readonly title: string
  readonly words: string
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** Encoded, below the address of the service. */
  readonly path: string
  readonly query: ReadonlyArray<readonly [name: string, value: string]>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
  /** What follows `db` with postgrest-js. */
  readonly chain: string
  /** The response has no body. */
  readonly silent?: boolean
}

export interface Subject {
  readonly schema: string
  readonly name: string
  readonly columns: ReadonlyArray<Column>
  /** Undefined: a view, which is only read. */
  readonly table: Table | undefined
  /** A row of it, if there is one. */
  readonly row: Row | undefined
  /** Labels of enum types, by name. */
  readonly enums: Readonly<Record<string, ReadonlyArray<string>>>
}

/** A table or view by its names. */
export const subjectOf = (
  { tables, views }: Catalogue,
  schema: string,
  name: string
): Pick<Subject, "schema" | "name" | "columns" | "table"> | undefined => {
  const is = (one: { readonly schema: string; readonly name: string }) => one.schema === schema && one.name === name
  const table = tables.find(is)
  const found = table ?? views.find(is)
  return found && { schema, name, columns: found.columns, table }
}

/** Names that the grammar of queries has a meaning for, and those with other characters, stand in quotes. */
const nameOf = (name: string) =>
  /^[\p{L}_][\p{L}\p{N}_$]*$/u.test(name) &&
  !/^(?:select|order|limit|offset|and|or|not|columns|on_conflict)$/.test(name)
    ? name
    : `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}"`

const pathOf = (name: string) => `/v1/db/${encodeURIComponent(name)}`

interface Key {
  readonly query: Call["query"]
  readonly chain: string
}

/** The condition that finds one row: by the primary key, else by the first column. */
const keyOf = ({ columns, enums, row, table }: Subject): Key => {
  const keys = table?.primary_key ?? []
  const chosen = columns.filter(({ name }) => keys.includes(name))
  const parts = (chosen.length > 0 ? chosen : columns.slice(0, 1)).map(({ name, type }) => {
    const text = textOf(row?.[name] ?? exampleOf(type, enums))
    return { name: nameOf(name), text }
  })
  return {
    query: parts.map(({ name, text }) => [name, `eq.${text}`]),
    chain: parts.map(({ name, text }) => `.eq(${jsOf(name)}, ${jsOf(text)})`).join("")
  }
}

/** Columns that fit on a line, the key first. */
const fewOf = ({ columns, table }: Subject) =>
  columns
    .toSorted(
      (a, b) =>
        Number(table?.primary_key.includes(b.name) ?? false) - Number(table?.primary_key.includes(a.name) ?? false)
    )
    .slice(0, 3)
    .map(({ name }) => nameOf(name))

/** The row that a reference leads to, embedded under the name of the key's column. */
const embedOf = ({ schema, table }: Subject): string | undefined => {
  const key = table?.foreign_keys.find(({ references }) => references.schema === schema)
  return key && `${nameOf(key.references.table)}!${nameOf(key.name)}(*)`
}

const bodyOf = (subject: Subject, columns: ReadonlyArray<Column>): Row => {
  const { enums, row, table } = subject
  const refers = (name: string) => table?.foreign_keys.some((key) => key.columns.includes(name)) ?? false
  return Object.fromEntries(
    columns.map(({ name, type }) => [name, refers(name) && row?.[name] != null ? row[name] : exampleOf(type, enums)])
  )
}

const insertOf = (subject: Subject): Row => {
  const writable = subject.columns.filter(isWritable)
  const required = writable.filter(isRequired)
  const keys = subject.table?.primary_key ?? []
  return bodyOf(
    subject,
    required.length > 0 ? required : writable.filter(({ name }) => !keys.includes(name)).slice(0, 2)
  )
}

const updateOf = (subject: Subject): Row | undefined => {
  const { columns, table } = subject
  const fixed = new Set([...(table?.primary_key ?? []), ...(table?.foreign_keys ?? []).flatMap((key) => key.columns)])
  const free = columns.filter((column) => isWritable(column) && !fixed.has(column.name))
  const column = free.find(({ type }) => /^(?:text|character)/.test(type)) ?? free[0]
  return column && bodyOf(subject, [column])
}

/** What can be done with a table or view, each as a request that works as it is. */
export const callsOf = (subject: Subject): ReadonlyArray<Call> => {
  const { name, table } = subject
  const path = pathOf(name)
  const from = `.from(${jsOf(name)})`
  const [first] = fewOf(subject)
  const key = keyOf(subject)
  const embed = embedOf(subject)
  const select = [...fewOf(subject), ...(embed === undefined ? [] : [embed])].join(",")
  const read = { method: "GET", path, headers: {} } as const
  if (first === undefined) {
    // Without columns there is nothing to choose, filter or write.
    return [{ ...read, title: "Read rows", words: "It has no columns yet.", query: [], chain: `${from}.select()` }]
  }
  const reads: ReadonlyArray<Call> = [
    {
      ...read,
      title: "Read rows",
      words: "The first ten in an order. A page of more rows starts at an offset.",
      query: [
        ["order", first],
        ["limit", "10"]
      ],
      chain: `${from}.select().order(${jsOf(first)}).limit(10)`
    },
    {
      ...read,
      title: embed === undefined ? "Choose columns and filter" : "Choose columns, follow a reference, filter",
      words:
        embed === undefined
          ? "A filter is a column with an operator and a value: eq, neq, gt, gte, lt, lte, like, ilike, in, is."
          : "The row that a reference leads to comes embedded. A filter is a column with an operator and a value: eq, gt, like, in, is …",
      query: [["select", select], ...key.query],
      chain: `${from}.select(${jsOf(select)})${key.chain}`
    },
    {
      ...read,
      title: "Read one row",
      words: "An object instead of an array; 406 if no row, or more than one, matches.",
      query: key.query,
      headers: { accept: "application/vnd.pgrst.object+json" },
      chain: `${from}.select()${key.chain}.single()`
    }
  ]
  if (table === undefined) return reads
  const body = insertOf(subject)
  const update = updateOf(subject)
  return [
    ...reads,
    {
      title: "Insert",
      words:
        "One object, or an array of them. The response has the new rows; columns that are left out get their defaults.",
      method: "POST",
      path,
      query: [],
      headers: {},
      body,
      chain: `${from}.insert(${jsOf(body)}).select()`
    },
    ...(update === undefined
      ? []
      : [
          {
            title: "Update",
            words: "Changes all rows that match. A filter is required.",
            method: "PATCH",
            path,
            query: key.query,
            headers: {},
            body: update,
            chain: `${from}.update(${jsOf(update)})${key.chain}.select()`
          } as const
        ]),
    {
      title: "Delete",
      words: "Deletes all rows that match, and returns them. A filter is required.",
      method: "DELETE",
      path,
      query: key.query,
      headers: {},
      chain: `${from}.delete()${key.chain}.select()`
    }
  ]
}

/** A call of a stored function, with its arguments by name. */
export const functionCall = (name: string, args: Row, silent: boolean): Call => ({
  title: "Call",
  words: "Arguments are given by name; those with a default may be left out.",
  method: "POST",
  path: `/v1/db/rpc/${encodeURIComponent(name)}`,
  query: [],
  headers: {},
  body: args,
  chain: `.rpc(${jsOf(name)}, ${jsOf(args)})`,
  silent
})
