import { Effect } from "effect"
import { maxCopied, type RowCopy, type RowCopyResult } from "../../../domain/branches/rows/Comparison.ts"
import { referencesSql } from "../../../domain/branches/rows/TableSql.ts"
import { DatabaseError, InvalidRequest } from "../../../domain/errors.ts"
import { checkAbsent, checkRows, chosenRows, type ChosenRows, tooMany, valuesOfRows } from "./Chosen.ts"
import { pairOf, type Sides } from "./Sides.ts"
import { moveSequences, resetSettings, writeRows } from "./Writes.ts"

/** Tables in the order in which they can be filled: those that others refer to come first. Circles stay as they were given. */
const parentsFirst = <A>(tables: ReadonlyArray<A>, parentsOf: (table: A) => ReadonlyArray<A>): ReadonlyArray<A> => {
  const sorted = new Set<A>()
  const visit = (table: A, way: ReadonlyArray<A>) => {
    if (sorted.has(table) || way.includes(table)) return
    for (const parent of parentsOf(table)) visit(parent, [...way, table])
    sorted.add(table)
  }
  for (const table of tables) visit(table, [])
  return Array.from(sorted)
}

const inOrder = Effect.fnUntraced(function* ({ main }: Sides, tables: ReadonlyArray<ChosenRows>) {
  const oids = tables.map(({ pair }) => pair.main.oid)
  const { rows } = yield* main.query(referencesSql, [`{${oids.join(",")}}`], 10_000)
  return parentsFirst(tables, ({ pair }) =>
    tables.filter((other) => rows.some(([child, parent]) => child === pair.main.oid && parent === other.pair.main.oid))
  )
})

const none = { inserted: 0, updated: 0, deleted: 0, skipped: 0 }
const keysOf = (rows: ChosenRows["inserted"]) => rows.map(({ key }) => key)
const jsonOf = (rows: ChosenRows["inserted"]) => rows.map(({ key }) => JSON.stringify(key))

const inserted = Effect.fnUntraced(function* (sides: Sides, rows: ChosenRows, json: ReadonlyArray<string>) {
  const { pair } = rows
  const count = yield* Effect.catchTag(
    writeRows(sides.main, { pair, verb: "insert", json, keys: keysOf(rows.inserted) }),
    "DatabaseError",
    (error) =>
      Effect.gen(function* () {
        if (error.code === "23505") {
          yield* sides.main.query("rollback to savepoint svc_rows", [], 1)
          yield* checkAbsent(sides, rows)
        }
        return yield* error
      })
  )
  return count
})

const committed = Effect.fnUntraced(function* ({ main }: Sides) {
  yield* Effect.mapError(main.query("set constraints all immediate", [], 1), (error) =>
    error._tag === "Unavailable"
      ? error
      : new DatabaseError({
          ...error,
          error: `The rows violate a deferred constraint; nothing was copied: ${error.error}`
        })
  )
  const { command } = yield* Effect.uninterruptible(main.query("commit", [], 1))
  if (command !== "COMMIT") {
    return yield* new DatabaseError({ error: "PostgreSQL rolled back the transaction", code: "40000", status: 409 })
  }
})

/**
 * Copies rows of the branch into the main database, in one transaction, if both sides are still as they were compared. All
 * tables are checked and locked before any is written; rows are deleted from children first, then changed and inserted into
 * parents first; constraints that can be deferred are checked at the end. Errors of PostgreSQL name the table and the row.
 */
export const copyRows = Effect.fnUntraced(function* (sides: Sides, { dry_run = false, tables }: RowCopy) {
  const names = new Set(tables.map(({ schema = "public", table }) => JSON.stringify([schema, table])))
  if (names.size < tables.length) {
    return yield* new InvalidRequest({
      error: "A table is given more than once",
      code: "COPY_INVALID_ROWS",
      hint: 'Put all rows of a table into one element of "tables"'
    })
  }
  const chosen: Array<ChosenRows> = []
  let count = 0
  for (const given of tables) {
    const rows = yield* chosenRows(sides, yield* pairOf(sides, given), given)
    count += rows.deleted.length + rows.inserted.length + rows.updated.length
    if (count > maxCopied) return yield* tooMany(rows.pair)
    chosen.push(rows)
  }
  const ordered = yield* inOrder(sides, chosen)
  let characters = 0
  for (const rows of ordered) characters = yield* checkRows(sides, rows, characters)

  const { main } = sides
  yield* resetSettings(main)
  yield* main.query("set constraints all deferred", [], 1)
  const counts = new Map(ordered.map((rows) => [rows, { ...none }]))
  for (const rows of ordered.toReversed()) {
    const { deleted, pair } = rows
    const written = yield* writeRows(main, { pair, verb: "delete", json: jsonOf(deleted), keys: keysOf(deleted) })
    Object.assign(counts.get(rows) ?? {}, { deleted: written })
  }
  for (const rows of ordered) {
    const { pair } = rows
    const changes = yield* valuesOfRows(sides, pair, rows.updated)
    const updated = yield* writeRows(main, { pair, verb: "update", json: changes, keys: keysOf(rows.updated) })
    const values = yield* valuesOfRows(sides, pair, rows.inserted)
    const made = yield* inserted(sides, rows, values)
    if (!dry_run) yield* moveSequences(main, pair, values)
    const all = rows.deleted.length + rows.updated.length + rows.inserted.length
    const before = counts.get(rows)
    if (before !== undefined) {
      Object.assign(before, { inserted: made, updated, skipped: all - before.deleted - updated - made })
    }
  }
  if (dry_run) yield* main.query("set constraints all immediate", [], 1)
  else yield* committed(sides)
  return {
    dry_run,
    tables: chosen.map((rows) => {
      const { schema, table } = rows.pair.main
      return Object.assign({ schema, table }, counts.get(rows) ?? none)
    })
  } satisfies RowCopyResult
})
