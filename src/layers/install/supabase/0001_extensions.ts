import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sqlStateOf } from "../../../services/OwnTables.ts"

/** The login may not create it, or the server does not have it. */
const unavailable = new Set(["42501", "0A000", "58P01"])

/** Schema `extensions` with those that migrations call by it, and the publication to which they add tables. */
export const extensions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const may = (text: string) =>
    sql.withTransaction(sql.unsafe(text)).pipe(
      Effect.catchIf(
        (error) => unavailable.has(sqlStateOf(error)),
        () => Effect.logWarning(`Failed to run, which migrations of Supabase may need: ${text}`)
      )
    )
  yield* sql.unsafe("grant usage on schema extensions to anon, authenticated, service_role")
  for (const name of ["pgcrypto", "uuid-ossp"]) {
    yield* may(`create extension if not exists "${name}" with schema extensions`)
  }
  const there = yield* sql`select from pg_publication where pubname = 'supabase_realtime'`
  if (there.length === 0) yield* may("create publication supabase_realtime")
})
