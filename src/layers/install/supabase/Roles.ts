import { Effect } from "effect"
import { type SqlClient } from "effect/sql"
import { quoteName } from "../../../domain/sql/Names.ts"
import { sqlStateOf } from "../../../services/OwnTables.ts"
import { needs } from "../Errors.ts"

/** Roles that dumps and migrations name. None of them may log in, and none is used by the service. */
const named = ["authenticator", "supabase_admin", "supabase_auth_admin", "supabase_storage_admin", "dashboard_user"]

/** Creates the roles that are missing. `service_role` bypasses row-level security, if the login may create such a role. */
export const supabaseRoles = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const found = yield* sql<{ name: string }>`select rolname::text as name from pg_roles`
    const have = new Set(found.map(({ name }) => name))
    if (!have.has("service_role")) {
      yield* sql.withTransaction(sql.unsafe("create role service_role nologin bypassrls")).pipe(
        Effect.catchIf(
          (error) => sqlStateOf(error) === "42501",
          () =>
            Effect.andThen(
              needs(sql, "create role service_role nologin", "CREATEROLE"),
              Effect.logWarning(
                "The role service_role does not bypass row-level security. As an administrator: alter role service_role bypassrls;"
              )
            )
        )
      )
    }
    for (const role of named.filter((one) => !have.has(one))) {
      yield* needs(sql, `create role ${quoteName(role)} nologin nobypassrls`, "CREATEROLE")
    }
  })
