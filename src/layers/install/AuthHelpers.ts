import { Effect } from "effect"
import { type SqlClient } from "effect/sql"
import { quoteName } from "../../domain/sql/Names.ts"

const claims = "pg_catalog.current_setting('request.jwt.claims', true)"
const sub = "pg_catalog.current_setting('request.jwt.sub', true)"

/** A sub that is no UUID must not fail; the condition guards the cast. */
const uuid = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"

/** In psql and in tests of policies, people set the claims alone. */
const subject = `coalesce(nullif(${sub}, ''), nullif(${claims}, '')::jsonb ->> 'sub')`

export const uidBody = `case when ${subject} ~ '${uuid}' then ${subject}::uuid end`

const helpers = [
  {
    name: "uid",
    returns: "uuid",
    body: uidBody,
    comment: "The user's id: the sub of the JWT if it is a UUID, else null"
  },
  { name: "sub", returns: "text", body: `nullif(${sub}, '')`, comment: "The sub of the JWT; null without a JWT" },
  {
    name: "role",
    returns: "text",
    body: `case pg_catalog.current_setting('role', true) when 'anon' then 'anon' when 'authenticated' then 'authenticated' else 'service_role' end`,
    comment: "The caller's kind: anon, authenticated or service_role"
  },
  {
    name: "jwt",
    returns: "jsonb",
    body: `coalesce(nullif(${claims}, ''), '{}')::jsonb`,
    comment: "The payload of the JWT; never null"
  },
  {
    name: "email",
    returns: "text",
    body: `case when (coalesce(nullif(${claims}, ''), '{}')::jsonb ->> 'email_verified') is distinct from 'false' then coalesce(nullif(${claims}, ''), '{}')::jsonb ->> 'email' end`,
    comment: "The email claim of the JWT; null without one, or if the JWT says that it is not verified"
  }
] as const

/**
 * Creates the helpers for policies in schema `auth`, if the database has no such schema and the login may create one.
 * Their bodies are standard SQL, which PostgreSQL inlines, and which the catalogue can prove to run no user code.
 */
export const installAuthHelpers = (sql: SqlClient.SqlClient, serviceRole: string) =>
  Effect.gen(function* () {
    const [state] = yield* sql<{ wanted: boolean }>`
      select to_regnamespace('auth') is null and has_database_privilege(current_database(), 'create') as wanted`
    if (state?.wanted !== true) return
    yield* sql.unsafe("create schema auth")
    yield* sql.unsafe("comment on schema auth is 'Helpers of svc for row-level security policies'")
    yield* sql.unsafe(`grant usage on schema auth to anon, authenticated, ${quoteName(serviceRole)}`)
    yield* addAuthHelpers(sql)
  })

/** Creates the helpers that schema `auth` lacks. */
export const addAuthHelpers = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    for (const { name, returns, body, comment } of helpers) {
      const [state] = yield* sql<{ there: boolean }>`select to_regprocedure(${`auth.${name}()`}) is not null as there`
      if (state?.there === true) continue
      yield* sql.unsafe(`create function auth.${name}() returns ${returns} stable parallel safe return ${body}`)
      yield* sql.unsafe(`comment on function auth.${name}() is '${comment.replaceAll("'", "''")}'`)
    }
  })
