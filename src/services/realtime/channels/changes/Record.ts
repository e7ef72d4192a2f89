import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { quoteName } from "../../../../domain/sql/Names.ts"
import { parseExact } from "../../../../domain/text/JsonText.ts"
import { type Actor } from "../../../ports/Db.ts"
import { type Row, keysOf } from "../../Visible.ts"
import { type Column, type Shape, mayRead } from "./Shapes.ts"

type Operation = "INSERT" | "UPDATE" | "DELETE"

/** A changed row as the trigger has notified it. */
export interface RecordedChange {
  readonly operation: Operation
  readonly row: Row | null
  readonly old_row: Row | null
  readonly timestamp: string
  /** The row is incomplete. */
  readonly truncated?: boolean
  /** It is incomplete because it is larger than events may be. */
  readonly tooLarge?: boolean
  /** The row has other values by now, and who was allowed to read those of the change is unknown. */
  readonly keyOnly?: boolean
}

/** The row that conditions are about, with only the columns that are published of it. */
export const rowOf = ({ old_row, operation, row }: RecordedChange, shape: Shape): Row =>
  operation === "DELETE" ? published(old_row, shape, shape.columns) : (row ?? {})

/** Old rows are published with their key, or whole if the table is configured so and no policy hides rows. */
const published = (row: Row | null, { full, secured }: Shape, columns: ReadonlyArray<Column>): Row => {
  const kept = full && !secured ? columns : columns.filter(({ key }) => key)
  return picked(row, kept)
}

const picked = (row: Row | null, columns: ReadonlyArray<Column>): Row =>
  row === null
    ? {}
    : Object.fromEntries(columns.flatMap(({ name }) => (Object.hasOwn(row, name) ? [[name, row[name]]] : [])))

const unauthorized = "Error 401: Unauthorized"

/** The event's `data` for a role, as JSON text. `select` names the requested columns; the key is added. */
export const dataText = (
  change: RecordedChange,
  shape: Shape,
  role: Actor["role"],
  select: ReadonlyArray<string> | undefined
): string => {
  const { keyOnly, operation, old_row, row, timestamp, tooLarge } = change
  const keys = shape.columns.filter(({ key }) => key)
  const error =
    keys.length === 0
      ? "Error 400: Bad Request, no primary key"
      : keys.every((column) => mayRead(role, column))
        ? undefined
        : unauthorized
  const columns =
    error === undefined
      ? shape.columns.filter(
          (column) => mayRead(role, column) && (column.key || select === undefined || select.includes(column.name))
        )
      : []
  const errors =
    error ?? (keyOnly === true ? unauthorized : tooLarge === true ? "Error 413: Payload Too Large" : undefined)
  const shown = keyOnly === true ? columns.filter(({ key }) => key) : columns
  return JSON.stringify({
    schema: shape.schema,
    table: shape.table,
    commit_timestamp: timestamp,
    type: operation,
    columns: columns.map(({ name, type }) => ({ name, type })),
    ...(operation === "DELETE" ? {} : { record: picked(row, shown) }),
    ...(operation === "INSERT" ? {} : { old_record: published(old_row, shape, columns) }),
    errors: errors === undefined ? null : [errors]
  })
}

/** The largest row that is read again, in bytes. */
const maxRow = 1024 * 1024

/** Reads the parts of a changed row that its notification lacks. */
export const makeRows = Effect.gen(function* () {
  const own = yield* SqlClient.SqlClient

  /** Reads rows that did not fit into their notifications. Rows that no longer exist remain incomplete. */
  const complete = Effect.fnUntraced(function* (changes: ReadonlyArray<RecordedChange>, shape: Shape) {
    const cut = new Map(
      changes.flatMap((change, n) =>
        change.truncated === true && change.row !== null ? [[n, change.row] as const] : []
      )
    )
    const keys = keysOf(cut, shape)
    if (keys === undefined) return changes
    const columns = shape.columns.map(({ name }) => `t.${quoteName(name)}`).join(", ")
    const rows = yield* own.unsafe<{ n: number; row: string | null }>(
      `select n, case when octet_length(row) <= ${maxRow} then row end as row
       from (select k.n, (select row_to_json(c)::text from (select ${columns}) c) as row
             from ${keys.from} join ${shape.sql} t on ${keys.same}) found`
    )
    const read = new Map(rows.map(({ n, row }) => [n, row]))
    return changes.map((change, n): RecordedChange => {
      const row = read.get(n)
      if (row === undefined) return change
      return row === null ? { ...change, tooLarge: true } : { ...change, row: parseExact(row) as Row }
    })
  })

  /** The numbers of the rows that pass the publication's condition. */
  const conditioned = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>, { condition, sql }: Shape) {
    if (condition === null) return new Set(rows.keys())
    const passing = yield* own.unsafe<{ n: number }>(
      `select n::int4 as n from json_array_elements($1::json) with ordinality as e (j, n)
       cross join lateral (select * from json_populate_record(null::${sql}, j)) as r where ${condition}`,
      [JSON.stringify(rows)]
    )
    return new Set(passing.map(({ n }) => n - 1))
  })

  return { complete, conditioned }
})
