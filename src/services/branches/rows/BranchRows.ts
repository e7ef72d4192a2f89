import { Context, Effect, Layer, Semaphore } from "effect"
import { type BranchId } from "../../../domain/branches/Branch.ts"
import {
  type ComparableTable,
  type DifferenceCounts,
  type DifferencePage,
  type DifferencesQuery,
  type RowCopy,
  type RowCopyResult,
  type TableChoice
} from "../../../domain/branches/rows/Comparison.ts"
import { pairTables, sharedKeys } from "../../../domain/branches/rows/TablePair.ts"
import { type TableShape } from "../../../domain/branches/rows/TableSql.ts"
import { type DatabaseError, GatewayTimeout } from "../../../domain/errors.ts"
import { Branches } from "../Branches.ts"
import { type CompareFailure, compareFailure } from "../CompareFailure.ts"
import { Db } from "../../ports/Db.ts"
import { copyRows } from "./Copy.ts"
import { countDifferences, differencePage } from "./Differences.ts"
import { readPosition } from "./Position.ts"
import { allTables, openSides, pairOf } from "./Sides.ts"

/** Comparisons and copies at a time in a process; each has a session of both databases. */
const atOnce = 4
const copyTime = "2 minutes"

const tableOf = (branch: TableShape | undefined, main: TableShape | undefined): ComparableTable => {
  const { schema, table } = (main ?? branch) as TableShape
  const pair = pairTables({ schema, table }, branch, main)
  return {
    schema,
    table,
    keys: branch === undefined || main === undefined ? [] : sharedKeys(branch, main),
    branch_rows: branch?.rows ?? null,
    main_rows: main?.rows ?? null,
    refusal: "code" in pair ? { code: pair.code, error: pair.error } : null
  }
}

/** Compares tables of a branch with the main database's, and copies rows from it. */
export class BranchRows extends Context.Service<
  BranchRows,
  {
    readonly tables: (id: BranchId) => Effect.Effect<ReadonlyArray<ComparableTable>, CompareFailure>
    /** See `pairOf` for refusals. */
    readonly differences: (id: BranchId, query: DifferencesQuery) => Effect.Effect<DifferencePage, CompareFailure>
    readonly count: (
      id: BranchId,
      query: TableChoice & { readonly cursor?: string }
    ) => Effect.Effect<DifferenceCounts, CompareFailure>
    /** One transaction; see `copyRows`. 504 `COPY_TIMEOUT`. */
    readonly copy: (id: BranchId, given: RowCopy) => Effect.Effect<RowCopyResult, CompareFailure>
  }
>()("svc/services/BranchRows") {
  static readonly layer = Layer.effect(
    BranchRows,
    Effect.gen(function* () {
      const branches = yield* Branches
      const { main } = yield* Db
      const turns = yield* Semaphore.make(atOnce)
      const inTurn = <A, E extends CompareFailure>(effect: Effect.Effect<A, E | DatabaseError>) =>
        turns.withPermits(1)(
          Effect.mapError(effect, (error): CompareFailure =>
            error._tag === "DatabaseError" ? compareFailure(error) : error
          )
        )

      const tables = Effect.fn("BranchRows.tables")(function* (id: BranchId) {
        const [there, here] = yield* allTables(yield* openSides(branches, main, id))
        const nameOf = ({ schema, table }: TableShape) => JSON.stringify([schema, table])
        const [inBranch, inMain] = [there, here].map((all) => new Map(all.map((one) => [nameOf(one), one])))
        const names = new Set([...here, ...there].map(nameOf))
        return Array.from(names, (name) => tableOf(inBranch?.get(name), inMain?.get(name)))
      }, Effect.scoped)

      const differences = Effect.fn("BranchRows.differences")(function* (id: BranchId, query: DifferencesQuery) {
        const sides = yield* openSides(branches, main, id)
        const pair = yield* pairOf(sides, query)
        return yield* differencePage(sides, pair, query, yield* readPosition(pair, query.cursor))
      }, Effect.scoped)

      const count = Effect.fn("BranchRows.count")(function* (
        id: BranchId,
        query: TableChoice & { readonly cursor?: string }
      ) {
        const sides = yield* openSides(branches, main, id)
        const pair = yield* pairOf(sides, query)
        return yield* countDifferences(sides, pair, yield* readPosition(pair, query.cursor))
      }, Effect.scoped)

      const copy = Effect.fn("BranchRows.copy")(function* (id: BranchId, given: RowCopy) {
        return yield* copyRows(yield* openSides(branches, main, id, true), given)
      }, Effect.scoped)

      return BranchRows.of({
        tables: (id) => inTurn(tables(id)),
        differences: (id, query) => inTurn(differences(id, query)),
        count: (id, query) => inTurn(count(id, query)),
        copy: (id, given) =>
          Effect.timeoutOrElse(inTurn(copy(id, given)), {
            duration: copyTime,
            orElse: () =>
              Effect.fail(
                new GatewayTimeout({
                  error: `The copy took over ${copyTime}; nothing was copied`,
                  code: "COPY_TIMEOUT",
                  hint: "Copy fewer rows in a request"
                })
              )
          })
      })
    })
  )
}
