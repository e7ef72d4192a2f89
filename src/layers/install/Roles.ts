import { Effect, Redacted } from "effect"
import { type SqlClient, type SqlError } from "effect/sql"
import { randomBytes } from "node:crypto"
import { quoteName } from "../../domain/sql/Names.ts"
import { sqlStateOf } from "../../services/OwnTables.ts"
import { type InstallError, needs } from "./Errors.ts"

const setting = (sql: SqlClient.SqlClient, name: string) =>
  Effect.map(sql<{ value: string }>`select value from svc.settings where name = ${name}`, (rows) => rows[0]?.value)

const exists = (sql: SqlClient.SqlClient, role: string) =>
  Effect.map(sql`select from pg_roles where rolname = ${role}`, (rows) => rows.length > 0)

/** Creates `anon` and `authenticated`. Warns if service keys do not bypass row-level security. */
export const callerRoles = (sql: SqlClient.SqlClient, serviceRole: string) =>
  Effect.gen(function* () {
    const found = yield* sql<{ name: string }>`select rolname::text as name from pg_roles`
    const have = new Set(found.map((row) => row.name))
    const wanted: Record<string, string> = {
      anon: "create role anon nologin nobypassrls",
      authenticated: "create role authenticated nologin nobypassrls"
    }
    for (const [name, text] of Object.entries(wanted)) if (!have.has(name)) yield* needs(sql, text, "CREATEROLE")
    const [service] = yield* sql<{ bypass: boolean }>`
      select rolsuper or rolbypassrls as bypass from pg_roles where rolname = ${serviceRole}`
    if (service?.bypass === false) {
      yield* Effect.logWarning(
        `Role ${serviceRole} does not bypass row-level security: service keys see only the rows that policies allow, except in tables that the role owns. As an administrator: alter role ${quoteName(serviceRole)} bypassrls;`
      )
    }
    return undefined
  })

/**
 * The login role and its password, stored in the database because all replicas need the same. Roles are shared by all
 * databases of a server: if the service of another database created `svc_authenticator`, this one gets its own role.
 */
export const authenticator = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const kept = yield* setting(sql, "authenticator_password")
    const role = (yield* setting(sql, "authenticator_role")) ?? "svc_authenticator"
    const [own] = yield* sql<{ login: boolean }>`select rolcanlogin as login from pg_roles where rolname = ${role}`
    if (kept !== undefined && own?.login === true) {
      yield* allowConnect(sql, role)
      return { authenticator: role, authenticatorPassword: Redacted.make(kept) }
    }
    const [database] = yield* sql<{ oid: string; me: string }>`
      select oid::text as oid, current_user::text as me from pg_database where datname = current_database()`
    // A restored dump brings the role without its login.
    const isRestored = kept !== undefined && own !== undefined
    const taken = yield* exists(sql, "svc_authenticator")
    const name = isRestored ? role : taken ? `svc_authenticator_${database?.oid}` : "svc_authenticator"
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

/** The login that assistants read with, or the SQL that an administrator has to run first. */
export type AssistantLogin =
  | { readonly user: string; readonly password: Redacted.Redacted }
  | { readonly remedy: string }

/**
 * The login that MCP's read-only SQL runs as, and its password, stored as that of callers. It is a member of no role and owns
 * nothing, so that `RESET ROLE` gains nothing, and a superuser's rights are out of reach. It bypasses row-level security if
 * service keys do, because only they run SQL: rights decide which tables it reads.
 */
export const assistantRole = (
  sql: SqlClient.SqlClient,
  serviceRole: string
): Effect.Effect<AssistantLogin, InstallError | SqlError.SqlError> =>
  Effect.gen(function* () {
    const kept = yield* setting(sql, "assistant_password")
    const role = (yield* setting(sql, "assistant_role")) ?? "svc_assistant"
    const [own] = yield* sql<{ oid: string; me: string; superuser: boolean; bypass: boolean }>`
      select d.oid::text as oid, u.rolname::text as me, u.rolsuper as superuser, s.rolsuper or s.rolbypassrls as bypass
      from pg_database d, pg_roles u, pg_roles s
      where d.datname = current_database() and u.rolname = current_user and s.rolname = ${serviceRole}`
    if (own === undefined) return { remedy: `create role ${quoteName(serviceRole)}` }
    const found = (name: string) => sql<{ login: boolean; bypass: boolean }>`
      select rolcanlogin as login, rolbypassrls as bypass from pg_roles where rolname = ${name}`
    const isOurs = kept !== undefined && (yield* found(role)).length > 0
    const name = isOurs || (yield* found("svc_assistant")).length === 0 ? role : `svc_assistant_${own.oid}`
    const [state] = yield* found(name)
    const password = isOurs ? kept : randomBytes(24).toString("base64url")
    const verb = state === undefined ? "create" : "alter"
    const make = (bypass: string) =>
      sql.withTransaction(sql.unsafe(`${verb} role ${name} login noinherit ${bypass} password '${password}'`))
    // A restored dump brings the role without its login.
    if (!isOurs || state?.login !== true) {
      yield* own.bypass
        ? Effect.catchIf(make("bypassrls"), lacksRight, () =>
            Effect.andThen(
              Effect.logWarning(
                `Assistants read only the rows that policies allow the role ${name}. As a superuser: alter role ${name} bypassrls;`
              ),
              make("")
            )
          )
        : make("")
      // Statements may not fill the disk. Only a superuser may set the limit.
      if (own.superuser) yield* sql.unsafe(`alter role ${name} set temp_file_limit = '1GB'`)
      yield* sql`
        insert into svc.settings (name, value) values ('assistant_password', ${password}), ('assistant_role', ${name})
        on conflict (name) do update set value = excluded.value`
    }
    yield* allowConnect(sql, name)
    return { user: name, password: Redacted.make(password) }
  }).pipe(
    sql.withTransaction,
    Effect.catchIf(lacksRight, () =>
      Effect.gen(function* () {
        const [me] = yield* sql<{ me: string }>`select current_user::text as me`
        const remedy = `alter role ${quoteName(me?.me ?? "")} createrole`
        yield* Effect.logWarning(
          `MCP runs no read-only SQL: the database login may not create the role svc_assistant. As an administrator: ${remedy}; then restart the service`
        )
        return { remedy }
      })
    )
  )

const lacksRight = (error: unknown) => sqlStateOf(error) === "42501"

/**
 * The role that owns the webhooks' trigger function, with only the privileges that it needs. If the service of another
 * database created `svc_events` and the login may not use it, this one gets its own role.
 */
export const eventsRole = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [state] = yield* sql<{ me: string; own: string; owner: string }>`
      select current_user::text as me,
             (select 'svc_events_' || oid::text from pg_database where datname = current_database()) as own,
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
export const usable = (sql: SqlClient.SqlClient, role: string, me: string) =>
  Effect.gen(function* () {
    if (!(yield* exists(sql, role))) yield* needs(sql, `create role ${role} nologin nobypassrls`, "CREATEROLE")
    const [state] = yield* sql<{ plain: boolean; superuser: boolean; member: boolean }>`
      select not (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolcanlogin) as plain,
             (select rolsuper from pg_roles where rolname = ${me}) as superuser,
             pg_has_role(${me}, oid, 'member') as member from pg_roles where rolname = ${role}`
    if (state?.plain !== true) return false
    if (state.superuser) return true
    // The creator of a role may manage it since PostgreSQL 16, but is not a member that may act as it.
    return yield* sql.withTransaction(sql.unsafe(`grant ${role} to ${quoteName(me)}`)).pipe(
      Effect.as(true),
      Effect.catchIf(
        (error) => sqlStateOf(error) === "42501",
        () => Effect.succeed(state.member)
      )
    )
  })
