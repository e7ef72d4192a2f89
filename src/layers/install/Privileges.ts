import { Effect } from "effect"
import { type SqlClient } from "effect/sql"
import { quoteName } from "../../domain/sql/Names.ts"
import { publicSignalsSql, signalsSql } from "../../domain/sql/Signals.ts"
import { InstallError } from "./Errors.ts"

/**
 * Once per database: makes functions that callers call unable to signal other callers' sessions. Only a superuser may do
 * that. What an administrator grants afterwards stays granted.
 */
export const restrictSignals = (sql: SqlClient.SqlClient, serviceRole: string) =>
  Effect.gen(function* () {
    const done = yield* sql`select from svc.settings where name = 'signals'`
    if (done.length > 0 || (yield* sql.unsafe(publicSignalsSql)).length === 0) return
    const [state] = yield* sql<{ superuser: boolean }>`
      select rolsuper as superuser from pg_roles where rolname = current_user`
    const texts = signalsSql([serviceRole])
    if (state?.superuser !== true) {
      yield* Effect.logWarning(
        `A function that an anonymous caller calls can cancel statements of others and end their connections. As a superuser, in this database: ${texts.join("; ")};`
      )
      return
    }
    for (const text of texts) yield* sql.unsafe(text)
    yield* sql`insert into svc.settings (name, value) values ('signals', 'done')`
  })

export interface InstallOptions {
  /** Database role of service keys. */
  readonly serviceRole: string
  /** Schemas exposed by `/v1/db`. */
  readonly schemas: ReadonlyArray<string>
  /** Whether the database gets what the SQL of Supabase projects expects. */
  readonly supabase?: boolean
  /** Whether sign-ups by Supabase's clients need no confirmation, so that their addresses are shown as confirmed. */
  readonly showsConfirmed?: boolean
  /** Whether SQL functions are hooks of sign-ins, without the roles of Supabase. */
  readonly hooks?: boolean
  /** Whether assistants run SQL, with a login of their own. */
  readonly assistant?: boolean
}

interface State {
  readonly me: string
  readonly database: string
  readonly superuser: boolean
  readonly createrole: boolean
  readonly create: boolean
  readonly installed: boolean
  /** `anon` and `authenticated`: those that exist, and those that the login may grant. */
  readonly callers: ReadonlyArray<string>
  readonly grantable: ReadonlyArray<string>
  /** Whether the role of service keys exists, and the login is a member. */
  readonly service: boolean
  readonly member: boolean
}

const stateSql = `
  select r.rolname::text as me, current_database()::text as database, r.rolsuper as superuser, r.rolcreaterole as createrole,
         has_database_privilege(current_database(), 'create') as create, to_regnamespace('svc') is not null as installed,
         array(select rolname::text from pg_roles where rolname in ('anon', 'authenticated')) as callers,
         array(select rolname::text from pg_roles where rolname in ('anon', 'authenticated')
               and (pg_has_role(r.oid, oid, 'member with admin option')
                    or r.rolcreaterole and current_setting('server_version_num')::int < 160000)) as grantable,
         s.oid is not null as service, coalesce(pg_has_role(r.oid, s.oid, 'member'), false) as member
  from pg_roles r left join pg_roles s on s.rolname = $1::text where r.rolname = current_user`

/** Exposed schemas that have not been granted yet, that not everybody may use, and that the login may not grant. */
const schemasSql = (installed: boolean) => `
  select nspname::text as name from pg_namespace
  where nspname = any($1::text[]) and not has_schema_privilege(oid, 'usage with grant option')
  and not exists (select from aclexplode(nspacl) a where a.grantee = 0 and a.privilege_type = 'USAGE')
  ${installed ? "and not exists (select from svc.settings where name = 'grants:' || nspname)" : ""}`

/** Fails if the login lacks privileges that the installation needs, with all of them at once, and the SQL that grants them. */
export const checkPrivileges = (sql: SqlClient.SqlClient, { schemas, serviceRole }: InstallOptions) =>
  Effect.gen(function* () {
    const [state] = yield* sql.unsafe<State>(stateSql, [serviceRole])
    if (state === undefined) return undefined
    if ([state.me, serviceRole].includes("svc")) {
      return yield* new InstallError({
        message:
          "The role svc has the name of the schema with the service's own tables, where statements without a schema would create theirs: use a login of another name in DATABASE_URL, and in SVC_SERVICE_ROLE"
      })
    }
    if (state.superuser) return undefined
    const { installed } = state
    const [me, service] = [quoteName(state.me), quoteName(serviceRole)]
    const needed: Array<readonly [privilege: string, remedy: string]> = []
    if (!installed && !state.create) {
      needed.push(["CREATE on the database", `grant create on database ${quoteName(state.database)} to ${me};`])
    }
    const complete = installed && state.callers.length === 2
    if (!complete && !state.createrole) needed.push(["CREATEROLE", `alter role ${me} createrole;`])
    const foreign = installed ? [] : state.callers.filter((name) => !state.grantable.includes(name))
    if (foreign.length > 0) {
      const roles = foreign.join(", ")
      needed.push([`ADMIN on ${roles}`, `grant ${roles} to ${me} with admin option;`])
    }
    if (state.service && !state.member) needed.push([`membership of ${serviceRole}`, `grant ${service} to ${me};`])
    for (const { name } of yield* sql.unsafe<{ readonly name: string }>(schemasSql(installed), [schemas])) {
      needed.push([
        `USAGE on schema ${name}, with grant option`,
        `grant usage on schema ${quoteName(name)} to ${me} with grant option;`
      ])
    }
    const asItself = `Service keys run as role ${serviceRole}: set SVC_SERVICE_ROLE=${state.me} to run them as the login itself`
    if (!state.service) {
      return yield* new InstallError({
        message: `The role ${serviceRole} of SVC_SERVICE_ROLE does not exist. ${asItself}`
      })
    }
    if (needed.length === 0) return undefined
    return yield* new InstallError({
      message:
        `The database login ${state.me} lacks privileges: ${needed.map(([privilege]) => privilege).join("; ")}. ` +
        `${state.member ? "" : `${asItself}. `}As an administrator, in database ${state.database}: ` +
        needed.map(([, remedy]) => remedy).join(" ")
    })
  })
