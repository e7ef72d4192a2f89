import { Effect } from "effect"
import { type SqlError } from "effect/sql"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { CallerSql, Db } from "../ports/Db.ts"

/**
 * Transactions that evaluate policies as callers. Each begins without the plans that functions of policies have made in
 * the session, because PostgreSQL evaluates a function that is declared IMMUTABLE when it makes a plan, so that a plan may
 * contain an answer for an earlier caller. `replans`: whether several callers of one transaction need a plan each, because
 * there may be such a function that is not proven to be immutable.
 */
export const makeCallerTransactions = Effect.gen(function* () {
  const sql = yield* CallerSql
  const catalogues = yield* Catalogues
  const { main } = yield* Db
  return {
    sql,
    withTransaction: <A, E, R>(use: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
      sql.withTransaction(Effect.andThen(sql.unsafe("discard plans"), use)),
    // The catalogue may lack the newest functions if definitions change without a report. Events do not wait for it.
    replans: catalogues.get(main).pipe(
      Effect.map(({ promised, watched }) => !watched || promised.length > 0),
      Effect.timeout("20 millis"),
      Effect.orElseSucceed(() => true),
      Effect.catchDefect(() => Effect.succeed(true))
    )
  }
})
