import { Cause, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { recordUnreportedSql } from "../../domain/catalogue/FingerprintSql.ts"
import { Db } from "../../services/ports/Db.ts"
import { repairLogin } from "./LoginRepair.ts"
import { logFailure } from "../../services/OwnTables.ts"

/** Shortest and longest pause, in ms. */
const shortest = 1_000
const longest = 30_000
/** The pause takes this many times as long as the comparison, so that PostgreSQL spends at most 1 % of a core on it. */
const restFactor = 100

/**
 * Repeats as long as the service runs: records changes of the catalogue that event triggers did not report, and undoes
 * what a caller's function changed of the login that all callers share.
 */
export const layerUpkeep = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* Db // makes sure that the schema is installed
    const sql = yield* SqlClient.SqlClient
    let failed = false
    const check = Effect.gen(function* () {
      yield* repairLogin(sql)
      const [row] = yield* sql.unsafe<{ readonly millis: number }>(recordUnreportedSql)
      failed = false
      return row?.millis ?? 0
    }).pipe(
      Effect.catchCause((cause) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
        const warn = failed ? Effect.void : logFailure("Failed to compare the catalogue")(cause)
        failed = true
        return Effect.as(warn, 0)
      })
    )
    yield* check.pipe(
      Effect.flatMap((millis) => Effect.sleep(Math.min(longest, Math.max(shortest, millis * restFactor)))),
      Effect.forever,
      Effect.forkScoped
    )
  })
)
