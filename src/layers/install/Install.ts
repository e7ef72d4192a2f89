import { PgMigrator } from "@effect/sql-pg"
import { Data, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { installLock } from "../../domain/sql/AdvisoryLocks.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { sqlStateOf } from "../../services/OwnTables.ts"
import { migrations } from "./OwnMigrations.ts"

/** The database lacks something only its administrator can give; the message says exactly what. */
class InstallError extends Data.TaggedError("InstallError")<{ readonly message: string }> {}

export interface InstallOptions {
  /** Role that service keys run as. */
  readonly serviceRole: string
  /** Schemas reachable through `/v1/db`. */
  readonly schemas: ReadonlyArray<string>
}

interface Installed {
  /** Login role that anon and authenticated callers come through. */
  readonly authenticator: string
  readonly authenticatorPassword: Redacted.Redacted
}

/**
 * Makes the database ours, at every start and only as far as needed: schema `svc` and its tables, the roles `anon`,
 * `authenticated` and `svc_authenticator`, their grants, and (superuser only) the event trigger that reports DDL.
 */
export const install = (options: InstallOptions) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`select pg_advisory_xact_lock(${installLock}::text::bigint)`
        yield* version(sql)
        const there = yield* sql`select from pg_namespace where nspname = 'svc'`
        if (there.length === 0) yield* needs(sql, "create schema svc", "CREATE on the database")
        yield* sql.unsafe("revoke all on schema svc from public")
        yield* migrate(sql)
        yield* roles(sql, options.serviceRole)
        yield* eventsRole(sql)
        const login = yield* authenticator(sql)
        for (const schema of options.schemas) yield* grants(sql, schema, options.serviceRole)
        yield* eventTrigger(sql)
        return login satisfies Installed
      })
    )
  })

/** Runs a statement that may be beyond our login's rights. */
const needs = (sql: SqlClient.SqlClient, text: string, right: string, remedy = text) =>
  Effect.catchIf(
    sql.unsafe(text),
    (error) => sqlStateOf(error) === "42501",
    () =>
      Effect.fail(
        new InstallError({
          message: `The database login lacks a right: ${right}. Grant it, or run as an administrator: ${remedy};`
        })
      )
  )

const version = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [row] = yield* sql<{ v: string }>`select current_setting('server_version_num') as v`
    if (Number(row?.v) < 150_000) {
      return yield* new InstallError({ message: `PostgreSQL 15 or newer is needed; this server is ${row?.v}` })
    }
    return undefined
  })

const runMigrations = PgMigrator.make({})

const migrate = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [there] = yield* sql<{ t: string | null }>`select to_regclass('svc.migrations')::text as t`
    if (there?.t) {
      const [last] = yield* sql<{ n: number }>`select coalesce(max(migration_id), 0)::int4 as n from svc.migrations`
      const known = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))
      if ((last?.n ?? 0) > known) {
        return yield* new InstallError({
          message: `The database was made by a newer version (migration ${last?.n}, this one knows ${known}). Downgrades are refused; start the newer version`
        })
      }
    }
    return yield* runMigrations({ loader: PgMigrator.fromRecord(migrations), table: "svc.migrations" })
  })

const roles = (sql: SqlClient.SqlClient, serviceRole: string) =>
  Effect.gen(function* () {
    const found = yield* sql<{ name: string }>`select rolname::text as name from pg_roles`
    const have = new Set(found.map((row) => row.name))
    const wanted: Record<string, string> = {
      anon: "create role anon nologin nobypassrls",
      authenticated: "create role authenticated nologin nobypassrls"
    }
    for (const [name, text] of Object.entries(wanted)) if (!have.has(name)) yield* needs(sql, text, "CREATEROLE")
    const [service] = yield* sql<{ exists: boolean; may: boolean; bypass: boolean; me: string }>`
      select current_user::text as me,
             exists (select from pg_roles where rolname = ${serviceRole}) as exists,
             coalesce((select pg_has_role(current_user, oid, 'member') from pg_roles where rolname = ${serviceRole}), false) as may,
             coalesce((select rolsuper or rolbypassrls from pg_roles where rolname = ${serviceRole}), false) as bypass`
    if (!service?.exists || !service.may) {
      return yield* new InstallError({
        message: `Service keys run as role ${serviceRole}, which ${service?.me} may not become. Set SVC_SERVICE_ROLE=${service?.me}, or run as an administrator: grant ${quoteName(serviceRole)} to ${quoteName(service?.me ?? "")};`
      })
    }
    if (!service.bypass) {
      yield* Effect.logWarning(
        `Role ${serviceRole} does not bypass row-level security: service keys see only what policies let them, except on tables it owns. As an administrator: alter role ${quoteName(serviceRole)} bypassrls;`
      )
    }
    return undefined
  })

const setting = (sql: SqlClient.SqlClient, name: string) =>
  Effect.map(sql<{ value: string }>`select value from svc.settings where name = ${name}`, (rows) => rows[0]?.value)

/**
 * The login role and its password, kept in the database because every replica needs the same. Roles belong to the whole
 * server: where another database's service made `svc_authenticator`, this one gets a role of its own.
 */
const authenticator = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const kept = yield* setting(sql, "authenticator_password")
    const role = (yield* setting(sql, "authenticator_role")) ?? "svc_authenticator"
    if (kept !== undefined && (yield* exists(sql, role))) {
      yield* mayEnter(sql, role)
      return { authenticator: role, authenticatorPassword: Redacted.make(kept) }
    }
    const [database] = yield* sql<{ oid: string; me: string }>`
      select oid::text as oid, current_user::text as me from pg_database where datname = current_database()`
    const name = (yield* exists(sql, "svc_authenticator")) ? `svc_authenticator_${database?.oid}` : "svc_authenticator"
    const made = randomBytes(24).toString("base64url")
    const verb = (yield* exists(sql, name)) ? "alter" : "create"
    const text = `${verb} role ${name} login noinherit nobypassrls password '${made}'`
    yield* needs(sql, text, "CREATEROLE", `alter role ${quoteName(database?.me ?? "")} createrole`)
    yield* needs(sql, `grant anon, authenticated to ${name}`, "ADMIN on the roles anon and authenticated")
    yield* mayEnter(sql, name)
    yield* sql`
      insert into svc.settings (name, value) values ('authenticator_password', ${made}), ('authenticator_role', ${name})
      on conflict (name) do update set value = excluded.value`
    return { authenticator: name, authenticatorPassword: Redacted.make(made) }
  })

/** Where the database is no longer open to everybody, which it is not once it has branches. */
const mayEnter = (sql: SqlClient.SqlClient, role: string) =>
  Effect.gen(function* () {
    const [state] = yield* sql<{ may: boolean; database: string }>`
      select has_database_privilege(${role}::name, current_database(), 'connect') as may,
             current_database()::text as database`
    if (state?.may !== false) return
    yield* needs(sql, `grant connect on database ${quoteName(state.database)} to ${role}`, "ownership of the database")
  })

/**
 * The role that the webhooks' trigger function runs as, which may do what that needs and nothing else. Where another
 * database's service made `svc_events` and our login may not use it, this one gets a role of its own.
 */
const eventsRole = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [state] = yield* sql<{ me: string; own: string; owner: string }>`
      select current_user::text as me,
             (select 'svc_events_' || oid from pg_database where datname = current_database()) as own,
             (select proowner::regrole::text from pg_proc where oid = 'svc.enqueue_webhooks()'::regprocedure) as owner`
    const { me = "", own = "", owner = "" } = state ?? {}
    const kept = yield* setting(sql, "events_role")
    if (kept !== undefined && owner === kept) return
    const role = (yield* usable(sql, kept ?? "svc_events", me)) ? (kept ?? "svc_events") : own
    if (role === own && role !== kept) yield* usable(sql, own, me)
    for (const grant of [
      "usage on schema svc",
      "select (id, table_schema, table_name, events, active) on svc.webhooks",
      "insert on svc.webhook_messages"
    ]) {
      yield* needs(sql, `grant ${grant} to ${role}`, "ownership of schema svc and its tables")
    }
    // Whom a function is given to must be allowed to make one there.
    yield* sql.unsafe(`grant create on schema svc to ${role}`)
    const give = `alter function svc.enqueue_webhooks() owner to ${role}`
    yield* needs(sql, give, `membership of ${role}`, `grant ${role} to ${quoteName(me)}`)
    yield* sql.unsafe(`revoke create on schema svc from ${role}`)
    yield* sql`
      insert into svc.settings (name, value) values ('events_role', ${role})
      on conflict (name) do update set value = excluded.value`
  })

/** Makes the role unless it is there, and our login a member of it; false when it is somebody else's, or may too much. */
const usable = (sql: SqlClient.SqlClient, role: string, me: string) =>
  Effect.gen(function* () {
    if (!(yield* exists(sql, role))) yield* needs(sql, `create role ${role} nologin nobypassrls`, "CREATEROLE")
    const [state] = yield* sql<{ plain: boolean; superuser: boolean; member: boolean }>`
      select not (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolcanlogin) as plain,
             (select rolsuper from pg_roles where rolname = ${me}) as superuser,
             pg_has_role(${me}, oid, 'member') as member from pg_roles where rolname = ${role}`
    if (state?.plain !== true) return false
    if (state.superuser) return true
    // Who made a role may manage it, but since PostgreSQL 16 is not yet a member that may act as it.
    return yield* sql.withTransaction(sql.unsafe(`grant ${role} to ${quoteName(me)}`)).pipe(
      Effect.as(true),
      Effect.catchIf(
        (error) => sqlStateOf(error) === "42501",
        () => Effect.succeed(state.member)
      )
    )
  })

const exists = (sql: SqlClient.SqlClient, role: string) =>
  Effect.map(sql`select from pg_roles where rolname = ${role}`, (rows) => rows.length > 0)

/**
 * What Supabase users expect of a schema: anon and authenticated may use it, and tables that the service role creates
 * later are open to them, so that row-level security is what protects. Done once for each schema: what an
 * administrator takes away later stays away. Tables that were there before us are left closed.
 */
const grants = (sql: SqlClient.SqlClient, schema: string, serviceRole: string) =>
  Effect.gen(function* () {
    const done = yield* sql`select from svc.settings where name = ${`grants:${schema}`}`
    if (done.length > 0) return
    const there = yield* sql`select from pg_namespace where nspname = ${schema}`
    if (there.length === 0) {
      yield* Effect.logWarning(`Schema ${schema} of SVC_DB_SCHEMAS does not exist yet; restart once it does`)
      return
    }
    const [name, by] = [quoteName(schema), quoteName(serviceRole)]
    const to = "to anon, authenticated"
    yield* needs(sql, `grant usage on schema ${name} ${to}`, `ownership of schema ${schema}`)
    for (const grant of [
      "select, insert, update, delete on tables",
      "usage, select on sequences",
      "execute on functions"
    ]) {
      const text = `alter default privileges for role ${by} in schema ${name} grant ${grant} ${to}`
      yield* needs(sql, text, `membership of ${serviceRole}`)
    }
    yield* sql`insert into svc.settings (name, value) values (${`grants:${schema}`}, 'done')`
  })

/** Tells every replica at once that tables changed. Without it a table is looked for again when it is not found. */
const eventTrigger = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [state] = yield* sql<{ superuser: boolean; there: boolean }>`
      select coalesce((select rolsuper from pg_roles where rolname = current_user), false) as superuser,
             exists (select from pg_event_trigger where evtname = 'svc_ddl') as there`
    if (!state?.superuser || state.there) return
    yield* sql.unsafe("create event trigger svc_ddl on ddl_command_end execute function svc.notify_ddl()")
    yield* sql.unsafe("alter event trigger svc_ddl enable always") // replicated and restored DDL is DDL too
  })
