import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** A migration of several statements, which sql-pg can only run one by one. */
export const statements = (...texts: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const text of texts) yield* sql.unsafe(text)
  })
