import { Effect, type Scope } from "effect"
import { type BranchId } from "../../../domain/branches/Branch.ts"
import { type TableChoice } from "../../../domain/branches/rows/Comparison.ts"
import { comparisonSettings } from "../../../domain/branches/rows/CompareSql.ts"
import { type PairRefusal, pairTables, type TablePair } from "../../../domain/branches/rows/TablePair.ts"
import { decodeTable, maxListed, tablesSql } from "../../../domain/branches/rows/TableSql.ts"
import { type DatabaseError, NotFound, type Unavailable, Unprocessable } from "../../../domain/errors.ts"
import { type Database, serviceActor, type SqlSession } from "../../ports/Db.ts"
import { type Branches, type BranchRefusal } from "../Branches.ts"

/** A transaction in each database. */
export interface Sides {
  readonly branch: SqlSession
  readonly main: SqlSession
}

/** ms that one statement of a comparison may take: the first sorts the table if no index does. */
const statementMillis = 120_000

const begin = Effect.fnUntraced(function* (database: Database, how: string) {
  const session = yield* database.session(serviceActor)
  yield* session.query(`begin ${how}`, [], 1)
  yield* session.query(comparisonSettings(statementMillis), [], 1)
  return session
})

const snapshot = "isolation level repeatable read read only"

/**
 * Begins the transactions, which are rolled back when the scope closes. Both read one moment each, unless `writes`: then the
 * main one locks rows and sees what others have committed since. They run as the management role, as `/v1/sql` does.
 */
export const openSides = (
  branches: Branches["Service"],
  main: Database,
  id: BranchId,
  writes = false
): Effect.Effect<Sides, BranchRefusal | DatabaseError | Unavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const branch = yield* branches.database(id, "service_role")
    return {
      branch: yield* begin(branch, snapshot),
      main: yield* begin(main, writes ? "isolation level read committed read write" : snapshot)
    }
  })

const shapesIn = (session: SqlSession, schema: string | null, table: string | null) =>
  Effect.map(session.query(tablesSql, [schema, table], maxListed), ({ rows }) =>
    rows.map(([text]) => decodeTable(text))
  )

/** All tables that can be listed, of both databases. */
export const allTables = ({ branch, main }: Sides) =>
  Effect.all([shapesIn(branch, null, null), shapesIn(main, null, null)], { concurrency: 2 })

const refused = ({ code, error, hint }: PairRefusal) =>
  code === "COMPARE_TABLE_MISSING" ? new NotFound({ error, code, hint }) : new Unprocessable({ error, code, hint })

/** The pair of a table. 404 `COMPARE_TABLE_MISSING`, 422 `COMPARE_NOT_A_TABLE`, `COMPARE_NO_KEY`, `COMPARE_KEY_TYPE`. */
export const pairOf = Effect.fnUntraced(function* (
  { branch, main }: Sides,
  choice: TableChoice
): Effect.fn.Return<TablePair, DatabaseError | Unavailable | NotFound | Unprocessable> {
  const schema = choice.schema ?? "public"
  const [there, here] = yield* Effect.all(
    [shapesIn(branch, schema, choice.table), shapesIn(main, schema, choice.table)],
    { concurrency: 2 }
  )
  const pair = pairTables(choice, there[0], here[0])
  return "code" in pair ? yield* refused(pair) : pair
})
