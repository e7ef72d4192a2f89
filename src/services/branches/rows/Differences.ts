import { createHash } from "node:crypto"
import { Clock, Effect } from "effect"
import {
  type Difference,
  type DifferenceCounts,
  type DifferenceKind,
  differenceKinds,
  type DifferencePage,
  type DifferencesQuery,
  defaultPage
} from "../../../domain/branches/rows/Comparison.ts"
import { shownSql } from "../../../domain/branches/rows/CompareSql.ts"
import { shownPair, type TablePair } from "../../../domain/branches/rows/TablePair.ts"
import { type TableShape } from "../../../domain/branches/rows/TableSql.ts"
import { type SqlSession } from "../../ports/Db.ts"
import { type Position, writePosition } from "./Position.ts"
import { type DifferentRow, mergeRows } from "./Merge.ts"
import { type Sides } from "./Sides.ts"

/** ms of one request, and characters of the values that it shows. */
const [pageMillis, maxCharacters] = [15_000, 8 * 1024 * 1024]
/** Rows whose values are read at once. */
const shownAtOnce = 25

const short = (hash: string | undefined) => (hash === undefined ? "0" : Buffer.from(hash, "hex").toString("base64url"))

/** The state of both rows that was compared. */
export const tokenOf = ({ branch, main }: Pick<DifferentRow, "branch" | "main">) => `${short(branch)}.${short(main)}`

/** The digest of rows in order: that of those before, and one more. */
export const digestWith = (digest: string, row: DifferentRow) =>
  createHash("sha256")
    .update(JSON.stringify([digest, row.key, tokenOf(row)]))
    .digest("base64url")

interface Shown {
  readonly values: ReadonlyArray<string | null>
  readonly long: ReadonlyArray<string | null>
}

/** The values of rows, by their place in `rows`. */
const shownIn = Effect.fnUntraced(function* (
  session: SqlSession,
  pair: TablePair,
  table: TableShape,
  rows: ReadonlyArray<DifferentRow>
) {
  const found = new Map<number, Shown>()
  const read = yield* session.query(shownSql(pair, table), [JSON.stringify(rows.map(({ key }) => key))], rows.length)
  for (const [at, values = "[]", long = "[]"] of read.rows) {
    found.set(Number(at) - 1, {
      values: JSON.parse(values ?? "[]") as Shown["values"],
      long: JSON.parse(long ?? "[]") as Shown["long"]
    })
  }
  return found
})

const recordOf = ({ columns }: TablePair, shown: Shown | undefined) =>
  shown === undefined ? null : Object.fromEntries(columns.map(({ name }, i) => [name, shown.values[i] ?? null]))

const differenceOf = (pair: TablePair, row: DifferentRow, there?: Shown, here?: Shown): Difference => ({
  kind: row.kind,
  key: row.key,
  token: tokenOf(row),
  differs:
    there === undefined || here === undefined
      ? []
      : pair.columns.flatMap(({ name }, i) =>
          there.values[i] === here.values[i] && there.long[i] === here.long[i] ? [] : [name]
        ),
  branch: recordOf(pair, there),
  main: recordOf(pair, here),
  cut: pair.columns.flatMap(({ name }, i) => ((there?.long[i] ?? here?.long[i] ?? null) === null ? [] : [name]))
})

/** Differences from a position on, with their values. */
export const differencePage = Effect.fnUntraced(function* (
  sides: Sides,
  pair: TablePair,
  { kinds, limit = defaultPage }: DifferencesQuery,
  from: Position | undefined
) {
  const wanted = new Set<string>(kinds?.split(",") ?? differenceKinds)
  const rows: Array<DifferentRow> = []
  const until = (yield* Clock.currentTimeMillis) + pageMillis
  let end = yield* mergeRows(sides, pair, from?.key, until, (row) => {
    if (row !== undefined && wanted.has(row.kind)) rows.push(row)
    return rows.length < limit
  })
  const shown: Array<Difference> = []
  let characters = 0
  for (let at = 0; at < rows.length && characters < maxCharacters; at += shownAtOnce) {
    const some = rows.slice(at, at + shownAtOnce)
    const [there, here] = yield* Effect.all(
      [shownIn(sides.branch, pair, pair.branch, some), shownIn(sides.main, pair, pair.main, some)],
      { concurrency: 2 }
    )
    for (const [i, row] of some.entries()) {
      const difference = differenceOf(pair, row, there.get(i), here.get(i))
      shown.push(difference)
      characters += JSON.stringify(difference).length
    }
  }
  if (shown.length < rows.length) end = shown.at(-1)?.key
  const cursor = end === undefined ? null : writePosition(pair, { key: end })
  return { ...shownPair(pair), rows: shown, cursor } satisfies DifferencePage
})

/** Counts from a position on, which has the digests of what was counted before. */
export const countDifferences = Effect.fnUntraced(function* (
  sides: Sides,
  pair: TablePair,
  from: Position | undefined
) {
  const counted: Record<DifferenceKind, { count: number; digest: string }> = {
    only_in_branch: { count: 0, digest: from?.digests?.[0] ?? "" },
    changed: { count: 0, digest: from?.digests?.[1] ?? "" },
    only_in_main: { count: 0, digest: from?.digests?.[2] ?? "" }
  }
  let same = 0
  const until = (yield* Clock.currentTimeMillis) + pageMillis
  const end = yield* mergeRows(sides, pair, from?.key, until, (row) => {
    if (row === undefined) same++
    else {
      const of = counted[row.kind]
      of.count++
      of.digest = digestWith(of.digest, row)
    }
    return true
  })
  const digests = differenceKinds.map((kind) => counted[kind].digest)
  const cursor = end === undefined ? null : writePosition(pair, { key: end, digests })
  return { ...shownPair(pair), ...counted, same, cursor } satisfies DifferenceCounts
})
