import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sqlStateOf } from "../../../services/OwnTables.ts"

/**
 * Creates a table with what belongs to it, unless the database has one of that name, which is left as it is. If what the
 * statements refer to is not as they expect it, the service does without, rather than not starting.
 */
export const missingTable = (name: string, ...texts: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [state] = yield* sql<{ there: boolean }>`select to_regclass(${name}) is not null as there`
    if (state?.there === true) return
    yield* sql.withTransaction(Effect.forEach(texts, (text) => sql.unsafe(text), { discard: true })).pipe(
      Effect.catchIf(
        // An object that a statement names is missing or of another form (class 42).
        (error) => sqlStateOf(error).startsWith("42"),
        (error) => Effect.logWarning(`Failed to create the table ${name}, SQLSTATE ${sqlStateOf(error)}`)
      )
    )
  })
