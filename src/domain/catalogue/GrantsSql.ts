import { ddlSql, ddlTriggersSql } from "./DdlSql.ts"
import { quoteLiteral, quoteName } from "../sql/Names.ts"
import { signalsSql } from "../sql/Signals.ts"

export interface Granted {
  readonly login: string
  /** Stored by PostgreSQL in place of the password; undefined: the role's password is left as it is. */
  readonly verifier: string | undefined
  readonly database: string
  /** The role of service keys: the login, or one that it is a member of. */
  readonly serviceRole: string
  /** Schemas that `/v1/db` exposes. */
  readonly schemas: ReadonlyArray<string>
  /** Whether the login reads the write-ahead log. */
  readonly replication: boolean
  /** Whether PgBouncer asks for the passwords of the logins that the service makes. */
  readonly pooler: boolean
}

/** A block of PL/pgSQL. Names in it may contain any delimiter. */
const doBlock = (body: string) => `do ${body.includes("$do$") ? quoteLiteral(body) : `$do$ ${body} $do$`}`

/** A text in a comment that ends with the line. */
const inComment = (text: string) => text.replaceAll(/[\r\n]/g, " ")

const loginSql = ({ login, replication, serviceRole, verifier }: Granted) => {
  const [me, service] = [quoteName(login), quoteName(serviceRole)]
  const rights = ["login createrole createdb bypassrls", ...(replication ? ["replication"] : [])]
  return [
    doBlock(`begin
  if not exists (select from pg_roles where rolname = ${quoteLiteral(login)}) then create role ${me}; end if;
end`),
    `alter role ${me} ${rights.join(" ")}${verifier === undefined ? "" : ` password ${quoteLiteral(verifier)}`}`,
    `grant pg_signal_backend, pg_read_all_settings to ${me}`,
    ...(serviceRole === login ? [] : [`grant ${service} to ${me}`, `alter role ${service} bypassrls`]),
    // Otherwise the service makes these roles, and may grant them.
    doBlock(`declare
  caller text;
begin
  for caller in select rolname from pg_roles where rolname in ('anon', 'authenticated') loop
    execute format('grant %I to %I with admin option', caller, ${quoteLiteral(login)});
  end loop;
end`)
  ]
}

const databaseSql = ({ database, login, schemas }: Granted) => [
  `alter database ${quoteName(database)} owner to ${quoteName(login)}`,
  doBlock(`declare
  exposed text;
begin
  for exposed in select nspname from pg_namespace where nspname = any (array[${schemas.map(quoteLiteral).join(", ")}]::name[]) loop
    execute format('grant usage, create on schema %I to %I with grant option', exposed, ${quoteLiteral(login)});
  end loop;
end`)
]

/** The objects belong to the login, as those that the service makes; the function runs when anyone changes a definition. */
const eventTriggersSql = ({ login }: Granted) => [
  `set role ${quoteName(login)}`,
  ...ddlSql,
  "reset role",
  ...ddlTriggersSql
]

const poolerSql = ({ login }: Granted) => {
  const me = quoteName(login)
  return [
    "create schema if not exists pooler",
    `grant usage on schema pooler to ${me}`,
    `create or replace function pooler.login(name text, out usename text, out passwd text) returns setof record
  language sql stable security definer set search_path = pg_catalog, pg_temp as $fn$
    select rolname::text, rolpassword from pg_authid where rolname = name and rolname ~ '^svc_authenticator(_\\d+)?$'
  $fn$`,
    "revoke execute on function pooler.login(text) from public",
    `grant execute on function pooler.login(text) to ${me}`
  ]
}

/** The SQL with which a superuser prepares a database for a service whose login is not a superuser. It can be run again. */
export const grantsSql = (given: Granted): string => {
  const { database, login, pooler, replication, serviceRole, verifier } = given
  const section = (title: string, statements: ReadonlyArray<string>) =>
    `\n-- ${title}\n${statements.map((text) => `${text};\n`).join("")}`
  return [
    `-- Run this as a superuser in the database ${inComment(quoteName(database))}. It can be run again.\n`,
    `-- Settings of the service: SVC_SERVICE_ROLE=${inComment(serviceRole)}\n`,
    verifier === undefined
      ? `-- Set the password of the login in psql: \\password ${inComment(quoteName(login))}\n`
      : "",
    replication
      ? "-- The server needs wal_level = logical, or replica for SVC_PITR alone, and a restart after a change.\n"
      : "",
    section("The login, which is no superuser", loginSql(given)),
    section("Its database", databaseSql(given)),
    section(
      "Functions that anonymous callers call may not signal other sessions",
      signalsSql([...new Set([login, serviceRole])])
    ),
    section("Event triggers, which report changes of definitions", eventTriggersSql(given)),
    pooler ? section("The auth_query of PgBouncer: select * from pooler.login($1)", poolerSql(given)) : ""
  ].join("")
}
