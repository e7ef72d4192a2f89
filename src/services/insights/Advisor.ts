import { Context, Effect, Layer, Schema, Semaphore } from "effect"
import { type DatabaseError, InvalidRequest, Unavailable } from "../../domain/errors.ts"
import {
  type Advice,
  AdvisedTable,
  estimatedBytes,
  estimatedCost,
  Explained,
  indexSql,
  type Proposal,
  tableFactsSql,
  trialName,
  trialSql,
  wholeReadCost
} from "../../domain/insights/advice/Advice.ts"
import {
  adviceStatement,
  type Candidate,
  candidatesOf,
  parametersOf,
  tablesOf
} from "../../domain/insights/advice/Candidates.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { shorten } from "../../domain/text/Shorten.ts"
import { Db, serviceActor, type SqlSession } from "../ports/Db.ts"
import { parseSql } from "../sql/SqlParser.ts"

/** Bytes of the largest table whose writers may wait while an index is built for a trial. */
const smallTable = 16 * 1024 * 1024

/** Time limits in ms: of a statement, and of its waits for locks. */
const [statementMillis, lockMillis] = [5000, 300]

/** The part of the cost that an index must save to be worth a proposal. */
const worthwhile = 0.1

/** For a transaction. A backslash is one for the parser, so it must be one for PostgreSQL. */
const limits = `select pg_catalog.set_config('statement_timeout', '${statementMillis}', true),
  pg_catalog.set_config('lock_timeout', '${lockMillis}', true),
  pg_catalog.set_config('standard_conforming_strings', 'on', true)`

const busy = new Unavailable({ error: "The database is too busy for advice; retry", code: "DATABASE_BUSY" })

const notAdvised = (what: string) =>
  new InvalidRequest({
    error: `${shorten(what)} can't be advised on: only one SELECT, UPDATE or DELETE can`,
    code: "SQL_NOT_ALLOWED"
  })

/** The search path, and the schema of the extension for trials; null: the database does not have it. */
const serverSql = `select pg_catalog.current_schemas(false)::text,
  (select n.nspname from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace where e.extname = 'hypopg')`

interface Trial {
  readonly trial: Proposal["trial"]
  readonly cost: number
  readonly bytes: number
}

type SqlFailure = DatabaseError | Unavailable

/** Proposes indexes for a statement of the main database, which is never executed. */
export class Advisor extends Context.Service<
  Advisor,
  {
    readonly advise: (statement: string) => Effect.Effect<Advice, InvalidRequest | DatabaseError | Unavailable>
  }
>()("svc/services/Advisor") {
  static readonly layer = Layer.effect(
    Advisor,
    Effect.gen(function* () {
      const { main } = yield* Db
      // Trials hold locks of tables.
      const turn = yield* Semaphore.make(1)

      /** Runs statements in a transaction that is rolled back. */
      const inTransaction = <A, E>(session: SqlSession, readOnly: boolean, run: Effect.Effect<A, E>) =>
        Effect.gen(function* () {
          yield* session.query(readOnly ? "begin read only" : "begin", [], 1)
          yield* session.query(limits, [], 1)
          return yield* run
        }).pipe(Effect.ensuring(Effect.ignore(session.query("rollback", [], 1))))

      /** Plans it without values for its parameters: with NULL for one, PostgreSQL would know that no row is found. */
      const explain = Effect.fnUntraced(
        function* (session: SqlSession, statement: string, parameters: number) {
          yield* session.query("select pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true)", [], 1)
          yield* session.query(`prepare svc_advised as ${statement}`, [], 1)
          const values = parameters === 0 ? "" : ` (${Array.from({ length: parameters }, () => "null").join(", ")})`
          // Without ANALYZE, EXPLAIN only plans, also what a WITH changes.
          const { rows } = yield* session.query(`explain (verbose, format json) execute svc_advised${values}`, [], 1)
          return yield* planOf(rows[0]?.[0])
        },
        (run, session) => Effect.ensuring(run, Effect.ignore(session.query("deallocate all", [], 1)))
      )

      const number = (value: string | null | undefined) => Number(value ?? 0)

      const advise = Effect.fn("insights.advise")(function* (statement: string) {
        const tree = yield* parseSql(statement, adviceStatement)
        if (typeof tree === "string") return yield* notAdvised(tree)
        const parameters = parametersOf(tree)
        const session = yield* main.session(serviceActor)
        const { rows: server } = yield* session.query(serverSql, [], 1)
        const [path, hypopg] = server[0] ?? []
        const explained = explain(session, statement, parameters)
        const { Plan: plan } = yield* inTransaction(session, true, explained)
        const before = plan["Total Cost"]
        const facts = yield* inTransaction(
          session,
          true,
          Effect.gen(function* () {
            yield* session.query("select pg_catalog.set_config('search_path', 'pg_catalog', true)", [], 1)
            const { rows } = yield* session.query(tableFactsSql, [JSON.stringify(tablesOf(tree)), path ?? "{}"], 1000)
            return yield* Effect.orDie(Effect.forEach(rows, ([json]) => Schema.decodeEffect(AdvisedTable)(json ?? "")))
          })
        )
        const candidates = yield* parseSql(statement, () =>
          candidatesOf(tree, ({ name, schema }) =>
            facts.find(({ asked }) => asked.name === name && asked.schema === schema)
          )
        )

        const hypothetical = (candidate: Candidate, schema: string): Effect.Effect<Trial, SqlFailure> => {
          const extension = quoteName(schema)
          return inTransaction(
            session,
            false,
            Effect.gen(function* () {
              const { rows } = yield* session.query(
                `select ${extension}.hypopg_relation_size(indexrelid) from ${extension}.hypopg_create_index($1)`,
                [trialSql(candidate)],
                1
              )
              const { Plan } = yield* explained
              return { trial: "hypothetical" as const, cost: Plan["Total Cost"], bytes: number(rows[0]?.[0]) }
            })
          ).pipe(Effect.ensuring(Effect.ignore(session.query(`select ${extension}.hypopg_reset()`, [], 1))))
        }

        /** Undefined: the table is too large, or its older versions of rows keep PostgreSQL from using the index at once. */
        const built = (candidate: Candidate): Effect.Effect<Trial | undefined, SqlFailure> =>
          inTransaction(
            session,
            false,
            Effect.gen(function* () {
              const table = `${quoteName(candidate.schema)}.${quoteName(candidate.table)}`
              const size = yield* session.query(
                "select pg_catalog.pg_relation_size($1::pg_catalog.regclass)",
                [table],
                1
              )
              if (number(size.rows[0]?.[0]) > smallTable) return undefined
              yield* session.query(trialSql(candidate), [], 1)
              const { rows } = yield* session.query(
                `select pg_catalog.pg_relation_size(x.indexrelid), x.indcheckxmin from pg_catalog.pg_index x
                   join pg_catalog.pg_class c on c.oid = x.indexrelid
                 where x.indrelid = $1::pg_catalog.regclass and c.relname = '${trialName}'`,
                [table],
                1
              )
              if (rows[0]?.[1] !== "f") return undefined
              const { Plan } = yield* explained
              return { trial: "built" as const, cost: Plan["Total Cost"], bytes: number(rows[0]?.[0]) }
            })
          )

        const estimated = (candidate: Candidate, table: AdvisedTable): Trial | undefined => {
          const cost = estimatedCost(candidate, table)
          const whole = wholeReadCost(plan, table)
          return cost === undefined || whole === undefined
            ? undefined
            : {
                trial: "estimate",
                cost: Math.max(cost, before - whole + cost),
                bytes: estimatedBytes(candidate, table)
              }
        }

        const tryOne = Effect.fnUntraced(function* (candidate: Candidate) {
          const table = facts.find((one) => one.name === candidate.table && one.schema === candidate.schema)
          // A table of which only a few rows are read gains nothing.
          if (table === undefined || (table.plain && wholeReadCost(plan, table) === undefined)) return undefined
          const trial =
            hypopg != null ? hypothetical(candidate, hypopg) : table.plain ? built(candidate) : Effect.undefined
          // A locked table, for one, can't be tried now.
          const found =
            (yield* Effect.catchTag(trial, "DatabaseError", () => Effect.undefined)) ?? estimated(candidate, table)
          return found && proposalOf(candidate, table, found)
        })
        const tried = yield* Effect.forEach(candidates, tryOne)
        const found = tried.filter((one) => one !== undefined)
        return {
          cost: before,
          tried: found.length,
          proposals: bestOf(found.filter(({ cost }) => cost < before * (1 - worthwhile)))
        }
      }, Effect.scoped)

      return Advisor.of({
        advise: (statement) =>
          turn
            .withPermits(1)(advise(statement))
            .pipe(Effect.catchTag("DatabaseError", (error) => Effect.fail(error.status === 504 ? busy : error)))
      })
    })
  )
}

const planOf = (json: string | null | undefined) =>
  Effect.map(Effect.orDie(Schema.decodeEffect(Explained)(json ?? "")), ([first]) => first)

const proposalOf = (candidate: Candidate, table: AdvisedTable, { bytes, cost, trial }: Trial): Proposal => ({
  schema: candidate.schema,
  table: candidate.table,
  columns: candidate.columns,
  sql: indexSql(candidate, table.plain),
  trial,
  cost,
  bytes,
  table_bytes: table.bytes,
  table_rows: Math.round(table.rows),
  writes_per_second: Math.round(table.writes_per_second * 1000) / 1000
})

/** The cheapest first; of those that save as much, the one with fewer columns; one for each table. */
const bestOf = (proposals: ReadonlyArray<Proposal>): ReadonlyArray<Proposal> => {
  const sorted = proposals.toSorted((a, b) => a.cost - b.cost || a.columns.length - b.columns.length)
  return sorted.filter(
    (one, at) => sorted.findIndex(({ schema, table }) => schema === one.schema && table === one.table) === at
  )
}
