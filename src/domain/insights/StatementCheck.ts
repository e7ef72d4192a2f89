import { catalogueMark } from "../catalogue/CatalogueSql.ts"
import { Schema } from "effect"
import { quoteName } from "../sql/Names.ts"
import { type CheckSql, finding, severity } from "./FindingSql.ts"

/** Mean times from which a statement is slow, and very slow, in ms. */
const [slowMillis, verySlowMillis] = [100, 1000]

const maxText = 4000

/** Whether pg_stat_statements can be read, as one JSON text, a `StatementsState`. */
export const statementsStateSql = `
  select json_build_object(
    'schema', (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_stat_statements'),
    'packaged', exists (select from pg_available_extensions where name = 'pg_stat_statements'),
    -- Null if it may not be read.
    'libraries', (select setting from pg_settings where name = 'shared_preload_libraries'),
    'readable', pg_has_role('pg_read_all_stats', 'usage'),
    'role', current_user)::text`

export const StatementsState = Schema.fromJsonString(
  Schema.Struct({
    schema: Schema.NullOr(Schema.String),
    packaged: Schema.Boolean,
    libraries: Schema.NullOr(Schema.String),
    readable: Schema.Boolean,
    role: Schema.String
  })
)

export interface Obstacle {
  readonly reason: string
  readonly fix: string | null
}

const library = "pg_stat_statements"
const create = `create extension if not exists ${library};`

/** Why statements can't be read, and what to do about it; undefined if they can. */
export const obstacleTo = (state: typeof StatementsState.Type): Obstacle | undefined => {
  const { libraries, packaged, readable, role, schema } = state
  if (!packaged) return { reason: `This PostgreSQL comes without the extension ${library}`, fix: null }
  const loaded = libraries?.split(",").map((name) => name.trim().replaceAll('"', "")) ?? []
  if (libraries !== null && !loaded.includes(library)) {
    const all = [...loaded.filter((name) => name !== ""), library].map((name) => `'${name.replaceAll("'", "''")}'`)
    return {
      reason: `The extension ${library} must be loaded when PostgreSQL starts: run the first statement, restart PostgreSQL, run the second`,
      fix: `alter system set shared_preload_libraries = ${all.join(", ")};\n${create}`
    }
  }
  if (schema === null) return { reason: `The extension ${library} is not created in this database`, fix: create }
  if (readable) return undefined
  return {
    reason: `The role ${role} may not read the statements of other roles`,
    fix: `grant pg_read_all_stats to ${quoteName(role)};`
  }
}

/** Statements that are slow on average, those first that took the most time in total. `schema`: the extension's. */
export const slowStatements = (schema: string): CheckSql => ({
  kind: "slow_statement",
  sql: `
    select ${finding({
      severity: severity([`mean >= ${verySlowMillis}`, "warning"]),
      type: "'statement'",
      schema: "null",
      name: "queryid::text",
      explanation: `format('It takes %s ms on average and has taken %s s in %s calls. EXPLAIN shows where: often an index is missing.',
        round(mean), round(total / 1000), calls)`,
      details: {
        statement: "statement",
        calls: "calls",
        mean_ms: "round(mean)",
        total_ms: "round(total)",
        rows: "returned"
      }
    })}
    from (
      select queryid, left(min(query), ${maxText}) as statement, sum(calls) as calls, sum(rows) as returned,
        sum(total_exec_time)::numeric as total, (sum(total_exec_time) / sum(calls))::numeric as mean
      from ${quoteName(schema)}.${library}
      -- The text of other statements has no placeholders for its constants, which may be passwords.
      where dbid = (select oid from pg_database where datname = current_database()) and calls > 0
        and left(query, 200) ~* '^\\s*(select|with|insert|update|delete|merge|values|table|call)\\M'
        -- The service's own, which grows with the definitions.
        and position('${catalogueMark}' in left(query, 200)) = 0
      group by queryid
    ) s
    where mean >= ${slowMillis} order by total desc, queryid`
})
