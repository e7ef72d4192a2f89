import { Clock, Effect } from "effect"
import { type DifferenceKind } from "../../../domain/branches/rows/Comparison.ts"
import { closeSql, fetchSql, sortedKeysSql } from "../../../domain/branches/rows/CompareSql.ts"
import { compareKeys, keyFormOf } from "../../../domain/branches/rows/KeyOrder.ts"
import { type TablePair } from "../../../domain/branches/rows/TablePair.ts"
import { type TableShape } from "../../../domain/branches/rows/TableSql.ts"
import { type DatabaseError, type Unavailable } from "../../../domain/errors.ts"
import { type SqlSession } from "../../ports/Db.ts"
import { type Sides } from "./Sides.ts"

type RowKey = ReadonlyArray<string>

/** A row that differs. Hashes are MD5 in hexadecimal; undefined where there is no such row. */
export interface DifferentRow {
  readonly kind: DifferenceKind
  readonly key: RowKey
  readonly branch: string | undefined
  readonly main: string | undefined
}

/** Rows of each side that are in memory. */
const batch = 5_000

/** The keys and hashes of one side, in the order of the key. */
const readerOf = Effect.fnUntraced(function* (
  session: SqlSession,
  pair: TablePair,
  table: TableShape,
  after: RowKey | undefined
) {
  yield* session.query(sortedKeysSql(pair, table, after !== undefined), after ?? [], 1)
  const width = pair.keyColumns.length
  let rows: ReadonlyArray<ReadonlyArray<string | null>> = []
  let at = 0
  let ended = false
  return {
    /** Reads on, if all that was read is taken. */
    fill: Effect.suspend(() =>
      ended || at < rows.length
        ? Effect.void
        : Effect.map(session.query(fetchSql(batch), [], batch), (read) => {
            rows = read.rows
            at = 0
            ended = rows.length < batch
          })
    ),
    isEmpty: () => at >= rows.length,
    isOver: () => ended && at >= rows.length,
    key: () => rows[at]?.slice(0, width) as RowKey,
    take: () => rows[at++]?.[width] ?? ""
  }
})

const kindOf = (order: number, branch: string | undefined, main: string | undefined): DifferenceKind | undefined =>
  order < 0 ? "only_in_branch" : order > 0 ? "only_in_main" : branch === main ? undefined : "changed"

/**
 * Merges the rows of both sides by key; `found` is called with each difference, or with undefined for a row that is the same,
 * and returns false to stop. Returns the key at which it has stopped, also because it is `until` (ms); undefined: at the end.
 */
export const mergeRows = Effect.fnUntraced(function* (
  sides: Sides,
  pair: TablePair,
  after: RowKey | undefined,
  until: number,
  found: (row: DifferentRow | undefined) => boolean
): Effect.fn.Return<RowKey | undefined, DatabaseError | Unavailable> {
  const [branch, main] = yield* Effect.all(
    [readerOf(sides.branch, pair, pair.branch, after), readerOf(sides.main, pair, pair.main, after)],
    { concurrency: 2 }
  )
  const compare = compareKeys(pair.keyColumns.flatMap((column) => keyFormOf(column) ?? []))
  const close = Effect.all([sides.branch.query(closeSql, [], 1), sides.main.query(closeSql, [], 1)])
  for (;;) {
    yield* Effect.all([branch.fill, main.fill], { concurrency: 2 })
    let last: RowKey | undefined
    while ((!branch.isEmpty() || branch.isOver()) && (!main.isEmpty() || main.isOver())) {
      if (branch.isEmpty() && main.isEmpty()) {
        yield* close
        return undefined
      }
      const order = branch.isEmpty() ? 1 : main.isEmpty() ? -1 : compare(branch.key(), main.key())
      const key = order > 0 ? main.key() : branch.key()
      const there = order > 0 ? undefined : branch.take()
      const here = order < 0 ? undefined : main.take()
      const kind = kindOf(order, there, here)
      last = key
      if (!found(kind === undefined ? undefined : { kind, key, branch: there, main: here })) {
        yield* close
        return key
      }
    }
    if (last !== undefined && (yield* Clock.currentTimeMillis) >= until) {
      yield* close
      return last
    }
  }
})
