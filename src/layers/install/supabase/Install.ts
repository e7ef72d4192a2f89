import { PgMigrator } from "@effect/sql-pg"
import { Effect } from "effect"
import { type SqlClient } from "effect/sql"
import { quoteName } from "../../../domain/sql/Names.ts"
import { placeholders } from "../../../domain/supabase/Extensions.ts"
import { sqlStateOf } from "../../../services/OwnTables.ts"
import { addAuthHelpers } from "../AuthHelpers.ts"
import { needs } from "../Errors.ts"
import { type InstallOptions } from "../Privileges.ts"
import { extensions } from "./0001_extensions.ts"
import { accounts } from "./0002_accounts.ts"
import { files } from "./0003_files.ts"
import { broadcasts } from "./0004_broadcasts.ts"
import { resumableUploads } from "./0005_resumable_uploads.ts"
import { channels } from "./0006_channels.ts"
import { users } from "./0007_users.ts"
import { sessions } from "./0008_sessions.ts"
import { laterFunctions } from "./0009_functions.ts"
import { keys } from "./0010_keys.ts"
import { newest } from "./0011_newest.ts"
import { searchPath } from "./0012_search_path.ts"
import { hooks } from "./0013_hooks.ts"
import { pgCron } from "../cron/PgCron.ts"
import { confirmed, confirmedSetting } from "./0014_confirmed.ts"
import { publicQueues } from "../queues/Public.ts"

/** Roles that dumps and migrations name. None of them may log in, and none is used by the service. */
const named = [
  "authenticator",
  "supabase_admin",
  "supabase_auth_admin",
  "supabase_functions_admin",
  "supabase_read_only_user",
  "supabase_realtime_admin",
  "supabase_replication_admin",
  "supabase_storage_admin",
  "dashboard_user"
]

/** Creates the roles that are missing. `service_role` bypasses row-level security, if the login may create such a role. */
const supabaseRoles = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const roles = yield* sql<{ name: string }>`select rolname::text as name from pg_roles`
    const have = new Set(roles.map(({ name }) => name))
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

/**
 * The objects that the SQL of a Supabase project refers to. Objects that a database has already, for example because it
 * was restored from Supabase, are not changed: each step creates only what is missing. The SQL of a released step must
 * never change.
 */
const steps = {
  "0001_extensions": extensions,
  "0002_accounts": accounts,
  "0003_files": files,
  "0004_broadcasts": broadcasts,
  "0005_resumable_uploads": resumableUploads,
  "0006_channels": channels,
  "0007_users": users,
  "0008_sessions": sessions,
  "0009_functions": laterFunctions,
  "0010_keys": keys,
  "0011_newest": newest,
  "0012_search_path": searchPath,
  "0013_hooks": hooks,
  "0014_confirmed": confirmed,
  "0015_queues": publicQueues,
  "0016_cron": pgCron
}

/** Functions that act as any caller, and so are for the login of callers alone. */
const evaluation = "realtime.svc_channel_probe(text, text), realtime.svc_channel_rights(text, text, text, text)"

const schemas = ["auth", "extensions", "realtime", "storage"]
const runSteps = PgMigrator.make({})

/** Installs roles and schemas of Supabase. Part of the installation's transaction, so that replicas take turns. */
export const installSupabase = (
  sql: SqlClient.SqlClient,
  { serviceRole, showsConfirmed = false }: InstallOptions,
  authenticator: string
) =>
  Effect.gen(function* () {
    yield* supabaseRoles(sql)
    const owner = quoteName(serviceRole)
    // Files that create these extensions expect their schemas to be there.
    const graphql = yield* sql`select from pg_available_extensions where name = 'pg_graphql'`
    const wanted = new Set([...schemas, ...(graphql.length > 0 ? Object.values(placeholders) : [])])
    for (const schema of wanted) {
      const there = yield* sql`select from pg_namespace where nspname = ${schema}`
      if (there.length === 0) yield* sql.unsafe(`create schema ${schema} authorization ${owner}`)
    }
    yield* addAuthHelpers(sql)
    const ran = yield* runSteps({ loader: PgMigrator.fromRecord(steps), table: "svc.supabase_migrations" })
    if (ran.length > 0) yield* give(sql, serviceRole)
    yield* sql`insert into svc.settings (name, value) values (${confirmedSetting}, ${String(showsConfirmed)})
      on conflict (name) do update set value = excluded.value where settings.value <> excluded.value`
    yield* fillUsers(sql)
    const [hook] = yield* sql`
      select from pg_proc where oid = to_regprocedure('auth.svc_run_hook(text, text, text)')
        and not has_function_privilege(${serviceRole}, oid, 'execute')`
    if (hook !== undefined) {
      yield* sql.unsafe(`grant execute on function auth.svc_run_hook(text, text, text) to ${owner}`)
    }
    const there =
      yield* sql`select to_regprocedure('realtime.svc_channel_rights(text, text, text, text)') is not null as there`
    if (there[0]?.["there"] === true) {
      const login = quoteName(authenticator)
      yield* sql.unsafe(`grant usage on schema realtime to ${login}`)
      yield* sql.unsafe(`grant execute on function ${evaluation} to ${login}`)
    }
  })

/** People of a restored dump, or of before the tables were filled, that are taken over at a start; the others when they sign in. */
const mostFilled = 20_000

/** Lets the service's login call the functions that write schema auth, and takes over the accounts that one side lacks. */
const fillUsers = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const there = yield* sql`select to_regprocedure('svc.supabase_fill(int)') is not null as there`
    if (there[0]?.["there"] !== true) return
    const [row] = yield* sql<{ done: number }>`select svc.supabase_fill(${mostFilled}::int4) as done`
    if ((row?.done ?? 0) > 0) yield* Effect.logInfo(`${row?.done} accounts were taken over between svc and auth.users`)
  })

/** Gives the tables to the role of service keys: only the owner of a table may add policies to it. */
const give = (sql: SqlClient.SqlClient, serviceRole: string) =>
  Effect.gen(function* () {
    const owner = quoteName(serviceRole)
    const objects = yield* sql<{ kind: string; name: string }>`
      select 'schema' as kind, quote_ident(nspname) as name from pg_namespace
      where nspname = any(${schemas}::text[]) and nspowner = current_user::regrole and current_user <> ${serviceRole}
      union all
      select 'table', c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any(${schemas}::text[]) and c.relkind = 'r' and c.relowner = current_user::regrole
        and current_user <> ${serviceRole}
      union all
      select 'function', p.oid::regprocedure::text from pg_proc p
      where p.pronamespace = 'auth'::regnamespace and p.proname like 'svc\\_%' and p.proowner = current_user::regrole
        and current_user <> ${serviceRole}`
    for (const { kind, name } of objects.filter((one) => one.kind === "schema")) {
      yield* sql.unsafe(`grant all on ${kind} ${name} to ${owner}`)
    }
    for (const { kind, name } of objects.filter((one) => one.kind === "table")) {
      yield* sql.unsafe(`alter ${kind} ${name} owner to ${owner}`)
    }
    for (const { kind, name } of objects.filter((one) => one.kind === "function")) {
      yield* sql.unsafe(`alter ${kind} ${name} owner to ${owner}`)
      yield* sql.unsafe(`grant execute on ${kind} ${name} to current_user`)
    }
  })
