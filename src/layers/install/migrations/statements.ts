import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** A migration of several statements, one query each: sql-pg has no other way. */
export const statements = (...texts: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const text of texts) yield* sql.unsafe(text)
  })
