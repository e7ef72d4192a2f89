import { quoteName } from "../../catalogue/names.ts"
import { ApiError } from "../../wire/ApiError.ts"
import { call } from "../../wire/call.ts"
import { upload } from "../../wire/upload.ts"
import type { GridColumn, Relation } from "../grid/columns.ts"
import { nameText } from "../rows/keyset.ts"
import { bodyOf, type Head, lineAt, type Targets } from "./source.ts"

/** Whose values count up. PostgreSQL does not count on when values are given. */
const counts = (column: GridColumn) => column.identity !== null || (column.default ?? "").startsWith("nextval(")

/** The next row must not get the number of an imported one. */
const countOn = async ({ name, schema }: Relation, columns: ReadonlyArray<GridColumn>, signal: AbortSignal) => {
  const table = `${quoteName(schema)}.${quoteName(name)}`
  for (const column of columns) {
    const sql = `select setval(s, m) from (select pg_get_serial_sequence($1, $2)::regclass as s,
      (select max(${quoteName(column.name)}) from ${table}) as m) x where m > coalesce(pg_sequence_last_value(s), 0)`
    await call("POST /v1/sql", { payload: { sql, params: [table, column.name] }, signal })
  }
}

/** What becomes of rows whose values in these columns exist. */
export interface Conflict {
  readonly columns: ReadonlyArray<string>
  readonly resolution: "merge-duplicates" | "ignore-duplicates"
}

/** Numbers of rows. Those that were updated or skipped are known with a `Conflict` only. */
export interface Imported {
  readonly rows: number
  readonly inserted?: number
  readonly updated?: number
  readonly skipped?: number
}

const queryOf = ({ conflict, nullText }: Importing) =>
  new URLSearchParams({
    null: nullText,
    ...(conflict === undefined
      ? {}
      : { on_conflict: conflict.columns.map(nameText).join(","), resolution: conflict.resolution })
  }).toString()

export interface Importing {
  readonly relation: Relation
  readonly columns: ReadonlyArray<GridColumn>
  readonly file: Blob
  readonly head: Head
  readonly targets: Targets
  /** The text of cells that are NULL unless they are in quotes. */
  readonly nullText: string
  /** Undefined: a row whose key exists is an error. */
  readonly conflict: Conflict | undefined
  readonly signal: AbortSignal
  /** From 0 to 1. */
  readonly onProgress: (part: number) => void
}

/** Writes all rows of a file, or none. */
export const importRows = async (given: Importing): Promise<Imported> => {
  const { columns, file, head, onProgress, relation, signal, targets } = given
  const body = await bodyOf(file, head, targets, signal)
  const imported = (await upload({
    path: `/v1/db/${encodeURIComponent(relation.name)}/import?${queryOf(given)}`,
    headers: { "content-type": "text/csv", "content-profile": relation.schema },
    body,
    signal,
    onProgress: (sent) => onProgress(sent / Math.max(1, body.size))
  })) as Imported
  await countOn(
    relation,
    columns.filter((column) => targets.includes(column.name) && counts(column)),
    signal
  )
  return imported
}

export interface Fault {
  readonly line: number
  /** Of the file, as it is now. */
  readonly text: string
}

/** The line that was refused, if the service names one. */
export const faultOf = async (error: unknown, file: Blob, head: Head): Promise<Fault | undefined> => {
  const details = error instanceof ApiError ? error.body.details : undefined
  const found = /\bline (\d{1,15})\b/.exec(typeof details === "string" ? details : "")
  if (found === null) return undefined
  const line = Number(found[1])
  // The file may have been deleted meanwhile.
  const text = await lineAt(file, head.encoding, line).catch(() => undefined)
  return text === undefined ? undefined : { line, text }
}
