import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sqlStateOf } from "../../../services/OwnTables.ts"
import { statements } from "../migrations/statements.ts"

/**
 * Calls a function of the project as supabase_auth_admin, to which projects grant it: in a function with the rights of its
 * owner, SET ROLE and RESET ROLE fail, so that the hook never gets the rights of the session. Constraint triggers that it
 * defers fire here, before the role of the session is back. The event is a literal, because hooks take json or jsonb.
 */
const made = statements(
  `create function auth.svc_run_hook(hook_schema text, hook_name text, event text) returns jsonb language plpgsql
   security definer set search_path = auth, public, extensions, pg_temp as $$
   declare
     answer jsonb;
   begin
     execute pg_catalog.format('select pg_catalog.to_jsonb(%I.%I(%L))', hook_schema, hook_name, event) into answer;
     set constraints all immediate;
     return answer;
   end $$`,
  "revoke all on function auth.svc_run_hook(text, text, text) from public",
  // A new owner must be able to create functions in the schema.
  "grant usage, create on schema auth to supabase_auth_admin",
  "alter function auth.svc_run_hook(text, text, text) owner to supabase_auth_admin",
  "revoke create on schema auth from supabase_auth_admin",
  "grant select on auth.users, auth.identities to supabase_auth_admin",
  "create policy svc_auth_admin on auth.users for select to supabase_auth_admin using (true)",
  "create policy svc_auth_admin on auth.identities for select to supabase_auth_admin using (true)"
)

/** Hooks read accounts, but change them by the service alone. */
export const hooks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(made).pipe(
    Effect.catchIf(
      (error) => sqlStateOf(error).startsWith("42"),
      (error) =>
        Effect.logWarning(
          `Functions can't be hooks of sign-ins, SQLSTATE ${sqlStateOf(error)}: the login must be able to create a function of the role supabase_auth_admin in schema auth`
        )
    )
  )
})
