import { Clock, Context, DateTime, Effect, Layer, Schema } from "effect"
import { accessChecks } from "../../domain/insights/AccessChecks.ts"
import { distributedTables } from "../../domain/insights/ClusterChecks.ts"
import { type CheckSql } from "../../domain/insights/FindingSql.ts"
import { indexChecks } from "../../domain/insights/IndexChecks.ts"
import {
  type Check,
  type Finding,
  Found,
  type InsightReport,
  cacheFinding,
  hitRatio,
  kinds,
  promisedFinding,
  severities
} from "../../domain/insights/Insight.ts"
import {
  obstacleTo,
  slowStatements,
  StatementsState,
  statementsStateSql
} from "../../domain/insights/StatementCheck.ts"
import { upkeepChecks } from "../../domain/insights/UpkeepChecks.ts"
import { type DatabaseError, Unavailable } from "../../domain/errors.ts"
import { isCitusSql } from "../../domain/sql/Citus.ts"
import { arrayLiteral } from "../../domain/sql/Names.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { Db, serviceActor, type SqlSession } from "../ports/Db.ts"
import { ExposedSchemas } from "../catalogue/ExposedSchemas.ts"
import { makeSharedRuns } from "../SharedRuns.ts"

/** Findings of one kind in a report. */
const maxFindings = 100

/** Time limits of one check, of its waits for locks, and of all checks, in ms. */
const checkMillis = 2000
const lockMillis = 200
const allMillis = 10_000

/**
 * Settings of the session, which ends with the report: read-only, with these limits, and PostgreSQL's own names first.
 */
const settings = `select pg_catalog.set_config('search_path', 'pg_catalog', false),
  pg_catalog.set_config('default_transaction_read_only', 'on', false),
  pg_catalog.set_config('lock_timeout', '${lockMillis}', false),
  pg_catalog.set_config('statement_timeout', '${checkMillis}', false)`

const databaseSql = `
  select json_build_object('name', datname, 'citus', ${isCitusSql}, 'hit', blks_hit, 'read', blks_read,
    'since', to_char(stats_reset at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
  from pg_stat_database where datname = current_database()`

const Statistics = Schema.fromJsonString(
  Schema.Struct({
    name: Schema.String,
    citus: Schema.Boolean,
    hit: Schema.Finite,
    read: Schema.Finite,
    since: Schema.NullOr(Schema.String)
  })
)

interface Outcome {
  readonly check: Check
  readonly findings: ReadonlyArray<Finding>
}

const busy = new Unavailable({ error: "The database is too busy for its statistics; retry", code: "DATABASE_BUSY" })

const done = (kind: Check["kind"], findings: ReadonlyArray<Finding>): Outcome => ({
  check: { kind, status: "done", truncated: findings.length > maxFindings, reason: null, fix: null },
  findings: findings.slice(0, maxFindings)
})

const unavailable = (kind: Check["kind"], reason: string, fix: string | null = null): Outcome => ({
  check: { kind, status: "unavailable", truncated: false, reason, fix },
  findings: []
})

/** Findings about the main database, each with what to do about it. */
export class Insights extends Context.Service<
  Insights,
  {
    /** Takes at most about ten seconds; callers at the same time share a report. */
    readonly report: Effect.Effect<InsightReport, Unavailable>
  }
>()("svc/services/Insights") {
  static readonly layer = Layer.effect(
    Insights,
    Effect.gen(function* () {
      const { main } = yield* Db
      const { schemas } = yield* ExposedSchemas
      const catalogues = yield* Catalogues
      const shared = yield* makeSharedRuns<InsightReport, Unavailable>()
      const exposedSchemas = arrayLiteral(schemas)

      /** The first values of the rows of a query, decoded. */
      const read = <S extends Schema.Codec<unknown, string>>(
        session: SqlSession,
        schema: S,
        sql: string,
        params: ReadonlyArray<string> = []
      ) =>
        Effect.flatMap(session.query(sql, params, maxFindings + 1), ({ rows }) =>
          Effect.orDie(Effect.forEach(rows, ([json]) => Schema.decodeEffect(schema)(json ?? "")))
        )

      const run = Effect.fnUntraced(function* (session: SqlSession, { exposed = false, kind, sql }: CheckSql) {
        const found = yield* read(session, Found, sql, exposed ? [exposedSchemas] : [])
        return done(
          kind,
          Array.from(found, (one): Finding => ({ kind, ...one }))
        )
      })

      const statements = Effect.fnUntraced(function* (session: SqlSession) {
        const [state] = yield* read(session, StatementsState, statementsStateSql)
        const obstacle = state === undefined ? undefined : obstacleTo(state)
        if (obstacle !== undefined) return unavailable("slow_statement", obstacle.reason, obstacle.fix)
        return yield* run(session, slowStatements(state?.schema ?? "public"))
      })

      const report = Effect.gen(function* () {
        const begun = yield* Clock.currentTimeMillis
        const session = yield* main.session(serviceActor)
        yield* session.query(settings, [], 1)
        const [database] = yield* read(session, Statistics, databaseSql)
        const {
          citus,
          hit,
          name,
          read: missed,
          since
        } = database ?? { citus: false, hit: 0, name: main.name, read: 0, since: null }
        const blocks = { hit, read: missed }

        /** A check that PostgreSQL refuses or cancels reports that, and the others run. */
        const attempted = (kind: Check["kind"], check: Effect.Effect<Outcome, DatabaseError | Unavailable>) =>
          Effect.gen(function* () {
            if ((yield* Clock.currentTimeMillis) - begun > allMillis) {
              return unavailable(kind, `The checks before took over ${allMillis / 1000} s; try again later`)
            }
            return yield* Effect.catchTag(check, "DatabaseError", ({ code, error }) =>
              Effect.succeed(unavailable(kind, `PostgreSQL refused the check (${code}): ${error}`))
            )
          })
        const clusterChecks = citus ? [distributedTables] : []
        const queries = [...accessChecks, ...indexChecks, ...upkeepChecks, ...clusterChecks].map((check) =>
          attempted(check.kind, run(session, check))
        )
        const outcomes = yield* Effect.all([...queries, attempted("slow_statement", statements(session))])
        const cold = cacheFinding(name, blocks)
        const { promised } = yield* catalogues.get(main)
        const all = [
          ...outcomes,
          done("immutable_function_unproven", promised.map(promisedFinding)),
          done("low_cache_hit", cold === undefined ? [] : [cold]),
          ...(citus ? [] : [done("distributed_table", [])])
        ]
        const order = ({ kind }: { readonly kind: Check["kind"] }) => kinds.indexOf(kind)
        return {
          checked_at: DateTime.formatIso(yield* DateTime.now),
          database: { name, cache_hit_ratio: hitRatio(blocks), statistics_since: since },
          checks: all.map(({ check }) => check).sort((a, b) => order(a) - order(b)),
          findings: all
            .flatMap(({ findings }) => findings)
            .sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity) || order(a) - order(b))
        }
      }).pipe(
        Effect.scoped,
        // The statements read the service's settings and statistics, so their errors are not the caller's.
        Effect.catchTag("DatabaseError", (error) => (error.status === 504 ? Effect.fail(busy) : Effect.die(error)))
      )

      return Insights.of({ report: shared("", report) })
    })
  )
}
