import { type Actor } from "../../../ports/Db.ts"
import { type Row } from "../../Visible.ts"
import { type Column, mayRead, type Shape } from "./Shapes.ts"

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
