import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sqlStateOf } from "../../../services/OwnTables.ts"

/** As at Supabase: migrations, seeds and programs call functions of extensions without their schema. */
export const supabaseSearchPath = '"$user", public, extensions'

/**
 * Sets the search_path of everyone who connects to the database, unless it has one. A login that does not own the database
 * sets its own.
 */
export const searchPath = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const there = yield* sql`
    select from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase, unnest(s.setconfig) c
    where d.datname = current_database() and c ~ '^search_path=' and s.setrole in (0, current_user::regrole)`
  if (there.length > 0) return
  const set = (whose: string) =>
    sql.withTransaction(
      sql.unsafe(`do $do$ begin
        execute pg_catalog.format('alter ${whose} %I set search_path to ${supabaseSearchPath}', pg_catalog.current_database());
      end $do$`)
    )
  yield* set("database").pipe(
    Effect.catchIf(
      (error) => sqlStateOf(error) === "42501",
      () => set("role current_user in database")
    ),
    Effect.catchIf(
      (error) => sqlStateOf(error) === "42501",
      () =>
        Effect.logWarning(
          `The search_path of psql and other programs has no schema extensions. As an administrator: alter database … set search_path to ${supabaseSearchPath};`
        )
    )
  )
})
