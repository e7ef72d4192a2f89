import { Effect } from "effect"
import { type SqlClient } from "effect/sql"
import { quoteName } from "../../domain/sql/Names.ts"
import { needs } from "./Errors.ts"
import { usable } from "./Roles.ts"

/** As that of Supabase's projects (supabase/0013_hooks.ts), which explains it, with a role of the service's own. */
const runner = `create function svc_ddl.run_hook(hook_schema text, hook_name text, event text) returns jsonb language plpgsql
   security definer set search_path = public, pg_temp as $$
   declare
     answer jsonb;
   begin
     execute pg_catalog.format('select pg_catalog.to_jsonb(%I.%I(%L))', hook_schema, hook_name, event) into answer;
     set constraints all immediate;
     return answer;
   end $$`
const signature = "svc_ddl.run_hook(text, text, text)"

/** Creates the role `svc_hooks` and the function that calls hooks as it, where there is no role of Supabase for that. */
export const hookRole = (sql: SqlClient.SqlClient, serviceRole: string) =>
  Effect.gen(function* () {
    const there = yield* sql`select from pg_proc where oid = to_regprocedure(${signature})`
    if (there.length === 0) {
      const [row] = yield* sql<{ me: string }>`select current_user::text as me`
      const me = quoteName(row?.me ?? "")
      if (!(yield* usable(sql, "svc_hooks", row?.me ?? ""))) {
        yield* needs(sql, `grant svc_hooks to ${me}`, "membership of svc_hooks, the role of hooks")
      }
      yield* sql.unsafe(runner)
      yield* sql.unsafe(`revoke all on function ${signature} from public`)
      // The new owner of a function needs CREATE on its schema.
      yield* sql.unsafe("grant create on schema svc_ddl to svc_hooks")
      yield* needs(
        sql,
        `alter function ${signature} owner to svc_hooks`,
        "membership of svc_hooks",
        `grant svc_hooks to ${me}`
      )
      yield* sql.unsafe("revoke create on schema svc_ddl from svc_hooks")
    }
    const missing = yield* sql`select where not has_function_privilege(${serviceRole}, ${signature}, 'execute')`
    if (missing.length > 0) yield* sql.unsafe(`grant execute on function ${signature} to ${quoteName(serviceRole)}`)
  })
