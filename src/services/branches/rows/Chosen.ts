import { Effect } from "effect"
import { type CopiedTable, differenceKinds, maxCopied } from "../../../domain/branches/rows/Comparison.ts"
import { hashesSql, valuesSql } from "../../../domain/branches/rows/CompareSql.ts"
import { compareKeys, keyFormOf } from "../../../domain/branches/rows/KeyOrder.ts"
import { type TablePair } from "../../../domain/branches/rows/TablePair.ts"
import { Conflict, InvalidRequest, Unprocessable } from "../../../domain/errors.ts"
import { digestWith, tokenOf } from "./Differences.ts"
import { type DifferentRow, mergeRows } from "./Merge.ts"
import { type Sides } from "./Sides.ts"

/** A row to copy or to delete: its key, and the token of what was compared. */
interface ChosenRow {
  readonly key: ReadonlyArray<string>
  readonly token: string
}

/** Rows of one table, by what is to be done. Keys are sorted, so that copies lock rows in the same order. */
export interface ChosenRows {
  readonly pair: TablePair
  readonly inserted: ReadonlyArray<ChosenRow>
  readonly updated: ReadonlyArray<ChosenRow>
  readonly deleted: ReadonlyArray<ChosenRow>
}

/** Characters of all rows that one request copies. */
const maxCharacters = 64 * 1024 * 1024
/** Rows that an error names. */
const maxNamed = 20

const nameOf = ({ main }: TablePair) => `${main.schema}.${main.table}`

export const tooMany = (pair: TablePair) =>
  new Unprocessable({
    error: `More than ${maxCopied} rows are to be copied, at the table ${nameOf(pair)}`,
    code: "COPY_TOO_MANY",
    hint: "Copy fewer rows in a request, by their keys"
  })

const changed = (pair: TablePair, keys: ReadonlyArray<ReadonlyArray<string>>) =>
  new Conflict({
    error: `${keys.length === 1 ? "A row" : `${keys.length} rows`} of ${nameOf(pair)} changed since the comparison; nothing was copied`,
    code: "COPY_ROWS_CHANGED",
    details: { schema: pair.main.schema, table: pair.main.table, keys: keys.slice(0, maxNamed) },
    hint: "Compare again, and choose again"
  })

/** All rows of the kinds that are chosen by their digests. */
const rowsOfKinds = Effect.fnUntraced(function* (sides: Sides, pair: TablePair, all: CopiedTable["all"] & {}) {
  const chosen: Array<DifferentRow> = []
  const digests = { only_in_branch: "", changed: "", only_in_main: "" }
  yield* mergeRows(sides, pair, undefined, Number.POSITIVE_INFINITY, (row) => {
    if (row === undefined || all[row.kind] === undefined) return true
    digests[row.kind] = digestWith(digests[row.kind], row)
    chosen.push(row)
    return chosen.length <= maxCopied
  })
  if (chosen.length > maxCopied) return yield* tooMany(pair)
  const stale = differenceKinds.filter((kind) => all[kind] !== undefined && all[kind] !== digests[kind])
  if (stale.length > 0) {
    return yield* new Conflict({
      error: `Rows of ${nameOf(pair)} changed since they were counted (${stale.join(", ")}); nothing was copied`,
      code: "COPY_ROWS_CHANGED",
      details: { schema: pair.main.schema, table: pair.main.table, kinds: stale },
      hint: "Count again, and choose again"
    })
  }
  return chosen.map((row) => ({ key: row.key, token: tokenOf(row) }))
})

/** What is to be done with a table. 400 `COPY_DELETE_NOT_CHOSEN`, `COPY_INVALID_ROWS`, 409 `COPY_ROWS_CHANGED`. */
export const chosenRows = Effect.fnUntraced(function* (sides: Sides, pair: TablePair, given: CopiedTable) {
  const ofKinds = given.all === undefined ? [] : yield* rowsOfKinds(sides, pair, given.all)
  const rows = new Map([...ofKinds, ...(given.rows ?? [])].map((row) => [JSON.stringify(row.key), row]))
  const compare = compareKeys(pair.keyColumns.flatMap((column) => keyFormOf(column) ?? []))
  const sorted = Array.from(rows.values()).toSorted((a, b) => compare(a.key, b.key))
  const invalid = sorted.find(({ key, token }) => key.length !== pair.keyColumns.length || token === "0.0")
  if (invalid !== undefined) {
    return yield* new InvalidRequest({
      error: `${JSON.stringify(invalid.key)} with the token ${invalid.token} is no row of a comparison of ${nameOf(pair)}`,
      code: "COPY_INVALID_ROWS",
      hint: `Send "key" and "token" as the comparison has them; the key's columns are ${pair.key.columns.join(", ")}`
    })
  }
  const deleted = sorted.filter(({ token }) => token.startsWith("0."))
  if (deleted.length > 0 && given.delete !== true) {
    return yield* new InvalidRequest({
      error: `${deleted.length} of the rows of ${nameOf(pair)} are only in the main database: to copy the branch's state is to delete them`,
      code: "COPY_DELETE_NOT_CHOSEN",
      hint: 'Choose it for the table by "delete": true, or omit these rows'
    })
  }
  const copied = sorted.filter(({ token }) => !token.startsWith("0."))
  return {
    pair,
    deleted,
    inserted: copied.filter(({ token }) => token.endsWith(".0")),
    updated: copied.filter(({ token }) => !token.endsWith(".0"))
  } satisfies ChosenRows
})

/**
 * Locks the main database's rows, and compares both sides with the tokens. Returns the characters to copy. 409
 * `COPY_ROWS_CHANGED`.
 */
export const checkRows = Effect.fnUntraced(function* (
  sides: Sides,
  { deleted, inserted, pair, updated }: ChosenRows,
  characters: number
) {
  const rows = [...deleted, ...updated, ...inserted]
  if (rows.length === 0) return characters
  const keys = JSON.stringify(rows.map(({ key }) => key))
  const [here, there] = yield* Effect.all(
    [
      sides.main.query(hashesSql(pair, pair.main, true), [keys], rows.length),
      sides.branch.query(hashesSql(pair, pair.branch, false), [keys], rows.length)
    ],
    { concurrency: 2 }
  )
  const hashes = rows.map(() => ({ branch: undefined as string | undefined, main: undefined as string | undefined }))
  for (const [side, { rows: read }] of [["main", here] as const, ["branch", there] as const]) {
    for (const [at, hash] of read) {
      const found = hashes[Number(at) - 1]
      if (found !== undefined) found[side] = hash ?? undefined
    }
  }
  const different = rows.filter(
    ({ token }, i) => token !== tokenOf(hashes[i] ?? { branch: undefined, main: undefined })
  )
  if (different.length > 0)
    return yield* changed(
      pair,
      different.map(({ key }) => key)
    )
  const all = there.rows.reduce((sum, [, , size]) => sum + Number(size), characters)
  if (all > maxCharacters) {
    return yield* new Unprocessable({
      error: `The rows have more than ${maxCharacters / 1024 / 1024} MiB, at the table ${nameOf(pair)}`,
      code: "COPY_TOO_LARGE",
      hint: "Copy fewer rows in a request, by their keys"
    })
  }
  return all
})

/** Whether rows that are to be inserted are there now. */
export const checkAbsent = Effect.fnUntraced(function* (sides: Sides, { inserted, pair }: ChosenRows) {
  const keys = JSON.stringify(inserted.map(({ key }) => key))
  const { rows } = yield* sides.main.query(hashesSql(pair, pair.main, false), [keys], inserted.length)
  const found = rows.flatMap(([at]) => {
    const row = inserted[Number(at) - 1]
    return row === undefined ? [] : [row.key]
  })
  if (found.length > 0) return yield* changed(pair, found)
})

/** The values of the branch's rows, each as a JSON array. */
export const valuesOfRows = (sides: Sides, pair: TablePair, rows: ReadonlyArray<ChosenRow>) =>
  rows.length === 0
    ? Effect.succeed([])
    : Effect.map(
        sides.branch.query(valuesSql(pair, pair.branch), [JSON.stringify(rows.map(({ key }) => key))], rows.length),
        (read) => read.rows.map(([, values]) => values ?? "[]")
      )
