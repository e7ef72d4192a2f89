import { Effect } from "effect"
import {
  callersSettings,
  deleteSql,
  insertSql,
  sequenceSql,
  setSequenceSql,
  takeNumbersSql,
  updateSql
} from "../../../domain/branches/rows/CompareSql.ts"
import { type TablePair } from "../../../domain/branches/rows/TablePair.ts"
import { DatabaseError, type Unavailable } from "../../../domain/errors.ts"
import { type SqlSession } from "../../ports/Db.ts"

/** Code of triggers finds the settings that any session of the management role has. */
export const resetSettings = (session: SqlSession) =>
  session.script(callersSettings.map((name) => `reset ${name}`).join("; "))

/** Rows of one statement, each as a JSON array of texts. */
interface Rows {
  readonly pair: TablePair
  readonly verb: "insert" | "update" | "delete"
  readonly json: ReadonlyArray<string>
  /** The keys, in the same order. */
  readonly keys: ReadonlyArray<ReadonlyArray<string>>
}

const statements = { insert: insertSql, update: updateSql, delete: deleteSql }

/** Errors of waiting and of the server, which no row has caused. */
const isOfRow = ({ code }: DatabaseError) => !/^(?:40|53|55P03|57|58|08|25)/.test(code)

const named = ({ pair, verb }: Rows, error: DatabaseError, key: ReadonlyArray<string> | undefined) => {
  const row = key === undefined ? "rows" : `the row ${JSON.stringify(key)}`
  const where = `${verb === "insert" ? "into" : verb === "update" ? "of" : "from"} ${pair.main.schema}.${pair.main.table}`
  const { code, details, hint, status } = error
  const rows = key === undefined ? {} : { key }
  return new DatabaseError({
    error: `Failed to ${verb} ${row} ${where}; nothing was copied: ${error.error}`,
    code,
    status,
    details: { schema: pair.main.schema, table: pair.main.table, ...rows, ...(details !== null && { details }) },
    hint
  })
}

/** Runs one statement for all rows, so that they may refer to each other. The error names the row that can't be written. */
export const writeRows = Effect.fnUntraced(function* (
  session: SqlSession,
  rows: Rows
): Effect.fn.Return<number, DatabaseError | Unavailable> {
  if (rows.json.length === 0) return 0
  const sql = statements[rows.verb](rows.pair)
  const write = (json: ReadonlyArray<string>) => session.query(sql, [`[${json.join(",")}]`], 1)
  yield* session.query("savepoint svc_rows", [], 1)
  const { rowCount } = yield* Effect.catchTag(write(rows.json), "DatabaseError", (error) =>
    Effect.gen(function* () {
      if (!isOfRow(error)) return yield* named(rows, error, undefined)
      yield* session.query("rollback to savepoint svc_rows", [], 1)
      for (const [i, json] of rows.json.entries()) {
        yield* Effect.catchTag(write([json]), "DatabaseError", (one) => Effect.fail(named(rows, one, rows.keys[i])))
      }
      return yield* named(rows, error, undefined)
    })
  )
  return rowCount ?? 0
})

/** Numbers that are taken one by one: a sequence that is set would give again what others have taken meanwhile. */
const fewNumbers = 1_000n

/** Moves the sequences of the table's columns past the rows that were inserted. */
export const moveSequences = Effect.fnUntraced(function* (
  session: SqlSession,
  pair: TablePair,
  json: ReadonlyArray<string>
) {
  for (const [i, { sequence }] of pair.columns.entries()) {
    if (sequence === null || json.length === 0) continue
    const { rows } = yield* session.query(sequenceSql, [sequence, String(i), `[${json.join(",")}]`], 1)
    const [step = null, last = null, max = null, largest = null] = rows[0] ?? []
    if (step === null || last === null || max === null || largest === null) continue
    const gap = BigInt(largest) - BigInt(last)
    if (BigInt(step) <= 0n || gap <= 0n || BigInt(largest) > BigInt(max)) continue
    const numbers = (gap + BigInt(step) - 1n) / BigInt(step)
    yield* numbers <= fewNumbers
      ? session.query(takeNumbersSql, [sequence, String(numbers)], 1)
      : session.query(setSequenceSql, [sequence, largest], 1)
  }
})
