import { Effect } from "effect"
import { type SqlClient } from "effect/sql"
import { sqlStateOf } from "../../services/OwnTables.ts"

/** Whether the database is a Citus cluster. If so, the schemas and tables of this transaction stay on the coordinator. */
export const keepLocal = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const found = yield* sql`select from pg_extension where extname = 'citus'`
    if (found.length === 0) return false
    yield* sql`set local citus.enable_schema_based_sharding = off`
    yield* sql`set local citus.use_citus_managed_tables = off`
    return true
  })

/** The roles as which Citus connects to workers for callers without a service key. */
const callers = ["anon", "authenticated"]

/** What lets Citus connect to its workers as these roles. They have no password: nothing else can log in as them. */
const callersLoginSql = callers.map((role) => `alter role ${role} login`)

/**
 * Lets Citus, which connects to workers as the role of the statement, do so for callers. Citus repeats the change on its
 * workers. Without the right, callers reach only tables of the coordinator.
 */
export const callersOnWorkers = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const closed = yield* sql`select from pg_roles where rolname in ${sql.in(callers)} and not rolcanlogin`
    if (closed.length === 0) return
    yield* Effect.catchIf(
      sql.withTransaction(Effect.forEach(callersLoginSql, (text) => sql.unsafe(text), { discard: true })),
      (error) => sqlStateOf(error) === "42501",
      () =>
        Effect.logWarning(
          `The database is a Citus cluster, whose workers do not admit anon and authenticated callers. As a superuser, on the coordinator: ${callersLoginSql.join("; ")};`
        )
    )
  })
