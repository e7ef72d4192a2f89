import { Cause, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { installLock } from "../../domain/sql/AdvisoryLocks.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { logFailure } from "../../services/OwnTables.ts"
import { needs } from "./Errors.ts"

const to = "to anon, authenticated"

/**
 * What the service role made in a schema before its default privileges were set: a migration makes both in one transaction.
 * Each is a part of GRANT.
 */
const madeBeforeSql = (sql: SqlClient.SqlClient, schema: string, serviceRole: string) => sql<{ granted: string }>`
  select case when c.relkind = 'S' then 'usage, select on sequence ' else 'select, insert, update, delete on table ' end
    || c.oid::regclass::text as granted
  from pg_class c
  where c.relnamespace = ${schema}::text::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    and c.relowner = ${serviceRole}::text::regrole`

/** Whether there is such a schema. */
const exists = (sql: SqlClient.SqlClient, schema: string) =>
  Effect.map(sql`select from pg_namespace where nspname = ${schema}`, (rows) => rows.length > 0)

const isGranted = (sql: SqlClient.SqlClient, schema: string) =>
  Effect.map(sql`select from svc.settings where name = ${`grants:${schema}`}`, (rows) => rows.length > 0)

/**
 * Grants as Supabase users expect: anon and authenticated may use the schema, and tables that the service role creates
 * later are open to them, protected by row-level security. Done once per schema, so that privileges that an administrator
 * revokes stay revoked. Tables that already exist get no grants. Whether it is done.
 */
export const grantSchema = (sql: SqlClient.SqlClient, schema: string, serviceRole: string) =>
  Effect.gen(function* () {
    if (yield* isGranted(sql, schema)) return true
    if (!(yield* exists(sql, schema))) return false
    const [name, by] = [quoteName(schema), quoteName(serviceRole)]
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
    return true
  })

/** How often a schema that does not exist yet is looked for. */
const looking = Schedule.spaced("1 second")

/**
 * Grants in the schemas of SVC_DB_SCHEMAS that are created while the service runs, also on the tables that they were created
 * with. Ends once all exist.
 */
export const layerSchemaGrants = (schemas: ReadonlyArray<string>, serviceRole: string) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const missing = yield* Effect.filter(schemas, (schema) => Effect.map(isGranted(sql, schema), (done) => !done))
      yield* Effect.forEach(missing, (schema) => grantNew(sql, schema, serviceRole), {
        concurrency: "unbounded",
        discard: true
      }).pipe(Effect.forkScoped)
    }).pipe(Effect.orDie)
  )

const grantNew = (sql: SqlClient.SqlClient, schema: string, serviceRole: string) => {
  let warned = false
  const once = Effect.gen(function* () {
    if (!(yield* exists(sql, schema))) return false
    // Replicas look at the same time.
    yield* sql`select pg_advisory_xact_lock(${installLock}::text::bigint)`
    if (yield* isGranted(sql, schema)) return true
    const before = yield* madeBeforeSql(sql, schema, serviceRole)
    yield* grantSchema(sql, schema, serviceRole)
    for (const { granted } of before) yield* needs(sql, `grant ${granted} ${to}`, `membership of ${serviceRole}`)
    yield* Effect.logInfo(`Granted anon and authenticated the use of schema ${schema} (SVC_DB_SCHEMAS)`)
    return true
  })
  return Effect.repeat(
    sql.withTransaction(once).pipe(
      Effect.tap(() => Effect.sync(() => void (warned = false))),
      Effect.catchCause((cause) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
        const log = warned ? Effect.void : logFailure(`Failed to grant the use of schema ${schema}`)(cause)
        warned = true
        return Effect.as(log, false)
      })
    ),
    { schedule: looking, until: (done) => done }
  )
}
