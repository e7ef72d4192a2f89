import { PgMigrator } from "@effect/sql-pg"
import { Data, Effect, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { installLock } from "../../domain/sql/AdvisoryLocks.ts"
import { ddlTriggersSql } from "../../domain/catalogue/DdlSql.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { sqlStateOf } from "../../services/OwnTables.ts"
import { installAuthHelpers } from "./AuthHelpers.ts"
import { migrations } from "./OwnMigrations.ts"
import { restrictSignals } from "./Signals.ts"

/** The database lacks something that only its administrator can provide; the message names it. */
class InstallError extends Data.TaggedError("InstallError")<{ readonly message: string }> {}

export interface InstallOptions {
  /** Database role of service keys. */
  readonly serviceRole: string
  /** Schemas exposed by `/v1/db`. */
  readonly schemas: ReadonlyArray<string>
}

interface Installed {
  /** Login role for anon and authenticated callers. */
  readonly authenticator: string
  readonly authenticatorPassword: Redacted.Redacted
}

/**
 * Installs what is missing, at every start: schema `svc` and its tables, the roles `anon`, `authenticated` and
 * `svc_authenticator`, their grants, and, if the login is a superuser, the event triggers that report DDL.
 */
export const install = (options: InstallOptions) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`select pg_advisory_xact_lock(${installLock}::text::bigint)`
        yield* version(sql)
        const there = yield* sql`select from pg_namespace where nspname = 'svc'`
        if (there.length === 0) {
          yield* needs(sql, "create schema svc", "CREATE on the database")
          yield* sql.unsafe("revoke all on schema svc from public")
        }
        yield* migrate(sql)
        yield* roles(sql, options.serviceRole)
        yield* eventsRole(sql)
        const login = yield* authenticator(sql)
        for (const schema of options.schemas) yield* grants(sql, schema, options.serviceRole)
        yield* installAuthHelpers(sql, options.serviceRole)
        yield* eventTriggers(sql)
        yield* restrictSignals(sql, options.serviceRole)
        return login satisfies Installed
      })
    )
  }).pipe(Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 20, while: isConcurrentInstall }))

/**
 * Whether another service was creating the same roles: they belong to the server, but the advisory lock to the database.
 * 23505 and 42710: a role was created meanwhile. XX000: its catalogue row was changed meanwhile ("tuple concurrently
 * updated").
 */
const isConcurrentInstall = (error: unknown) => ["23505", "42710", "XX000"].includes(sqlStateOf(error))

/** Runs a statement for which the login may lack a privilege. */
const needs = (sql: SqlClient.SqlClient, text: string, privilege: string, remedy = text) =>
  Effect.catchIf(
    sql.unsafe(text),
    (error) => sqlStateOf(error) === "42501",
    () =>
      Effect.fail(
        new InstallError({
          message: `The database login lacks a privilege: ${privilege}. Grant it, or run as an administrator: ${remedy};`
        })
      )
  )

const version = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [row] = yield* sql<{ v: string }>`select current_setting('server_version_num') as v`
    if (Number(row?.v) < 150_000) {
      return yield* new InstallError({
        message: `PostgreSQL 15 or newer is required; the server's version number is ${row?.v}`
      })
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
          message: `The database was created by a newer version (migration ${last?.n}; this version supports up to ${known}). Downgrades are not supported: start the newer version`
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
        message: `Service keys run as role ${serviceRole}, of which the login ${service?.me} is not a member. Set SVC_SERVICE_ROLE=${service?.me}, or run as an administrator: grant ${quoteName(serviceRole)} to ${quoteName(service?.me ?? "")};`
      })
    }
    if (!service.bypass) {
      yield* Effect.logWarning(
        `Role ${serviceRole} does not bypass row-level security: service keys see only the rows that policies allow, except in tables that the role owns. As an administrator: alter role ${quoteName(serviceRole)} bypassrls;`
      )
    }
    return undefined
  })

const setting = (sql: SqlClient.SqlClient, name: string) =>
  Effect.map(sql<{ value: string }>`select value from svc.settings where name = ${name}`, (rows) => rows[0]?.value)

/**
 * The login role and its password, stored in the database because all replicas need the same. Roles are shared by all
 * databases of a server: if the service of another database created `svc_authenticator`, this one gets its own role.
 */
const authenticator = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const kept = yield* setting(sql, "authenticator_password")
    const role = (yield* setting(sql, "authenticator_role")) ?? "svc_authenticator"
    if (kept !== undefined && (yield* exists(sql, role))) {
      yield* allowConnect(sql, role)
      return { authenticator: role, authenticatorPassword: Redacted.make(kept) }
    }
    const [database] = yield* sql<{ oid: string; me: string }>`
      select oid::text as oid, current_user::text as me from pg_database where datname = current_database()`
    const name = (yield* exists(sql, "svc_authenticator")) ? `svc_authenticator_${database?.oid}` : "svc_authenticator"
    const generated = randomBytes(24).toString("base64url")
    const verb = (yield* exists(sql, name)) ? "alter" : "create"
    const text = `${verb} role ${name} login noinherit nobypassrls password '${generated}'`
    yield* needs(sql, text, "CREATEROLE", `alter role ${quoteName(database?.me ?? "")} createrole`)
    yield* needs(sql, `grant anon, authenticated to ${name}`, "ADMIN on the roles anon and authenticated")
    yield* allowConnect(sql, name)
    yield* sql`
      insert into svc.settings (name, value) values ('authenticator_password', ${generated}), ('authenticator_role', ${name})
      on conflict (name) do update set value = excluded.value`
    return { authenticator: name, authenticatorPassword: Redacted.make(generated) }
  })

/** Grants CONNECT where PUBLIC no longer has it, which is so once the database has branches. */
const allowConnect = (sql: SqlClient.SqlClient, role: string) =>
  Effect.gen(function* () {
    const [state] = yield* sql<{ may: boolean; database: string }>`
      select has_database_privilege(${role}::name, current_database(), 'connect') as may,
             current_database()::text as database`
    if (state?.may !== false) return
    yield* needs(sql, `grant connect on database ${quoteName(state.database)} to ${role}`, "ownership of the database")
  })

/**
 * The role that owns the webhooks' trigger function, with only the privileges that it needs. If the service of another
 * database created `svc_events` and the login may not use it, this one gets its own role.
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
    // The new owner of a function needs CREATE on its schema.
    yield* sql.unsafe(`grant create on schema svc to ${role}`)
    const give = `alter function svc.enqueue_webhooks() owner to ${role}`
    yield* needs(sql, give, `membership of ${role}`, `grant ${role} to ${quoteName(me)}`)
    yield* sql.unsafe(`revoke create on schema svc from ${role}`)
    yield* sql`
      insert into svc.settings (name, value) values ('events_role', ${role})
      on conflict (name) do update set value = excluded.value`
  })

/** Creates the role if it is missing and makes the login a member; false if it can't be one or the role has privileges. */
const usable = (sql: SqlClient.SqlClient, role: string, me: string) =>
  Effect.gen(function* () {
    if (!(yield* exists(sql, role))) yield* needs(sql, `create role ${role} nologin nobypassrls`, "CREATEROLE")
    const [state] = yield* sql<{ plain: boolean; superuser: boolean; member: boolean }>`
      select not (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolcanlogin) as plain,
             (select rolsuper from pg_roles where rolname = ${me}) as superuser,
             pg_has_role(${me}, oid, 'member') as member from pg_roles where rolname = ${role}`
    if (state?.plain !== true) return false
    if (state.superuser) return true
    // Since PostgreSQL 16, the creator of a role may manage it, but is not a member that may act as it.
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
 * Grants as Supabase users expect: anon and authenticated may use the schema, and tables that the service role creates
 * later are open to them, protected by row-level security. Done once per schema, so that privileges that an administrator
 * revokes stay revoked. Tables that already exist get no grants.
 */
const grants = (sql: SqlClient.SqlClient, schema: string, serviceRole: string) =>
  Effect.gen(function* () {
    const done = yield* sql`select from svc.settings where name = ${`grants:${schema}`}`
    if (done.length > 0) return
    const there = yield* sql`select from pg_namespace where nspname = ${schema}`
    if (there.length === 0) {
      yield* Effect.logWarning(`Schema ${schema} of SVC_DB_SCHEMAS does not exist; restart the service once it does`)
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

/** Records DDL and notifies all replicas of it. Without it, an unknown table is looked up again. */
const eventTriggers = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [state] = yield* sql<{ superuser: boolean; there: boolean }>`
      select coalesce((select rolsuper from pg_roles where rolname = current_user), false) as superuser,
             (select count(*) = 2 from pg_event_trigger
              where evtname in ('svc_ddl', 'svc_ddl_drop') and evtfoid = 'svc_ddl.record()'::regprocedure) as there`
    if (!state?.superuser || state.there) return
    for (const text of ddlTriggersSql) yield* sql.unsafe(text)
    yield* sql.unsafe("drop function if exists svc.notify_ddl()")
  })
