import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { duration, integer, text } from "../../domain/Settings.ts"
import { AnswerBudget } from "../../services/access/AnswerBudget.ts"
import { CurrentMeters } from "../../services/metrics/Meters.ts"
import { type Database, Db } from "../../services/ports/Db.ts"
import { mcpMode } from "../../services/mcp/Settings.ts"
import { ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"
import { verifyFirst } from "../../services/identity/AccountSettings.ts"
import { supabaseEnabled } from "../../services/supabase/Settings.ts"
import { install } from "../install/Install.ts"
import { supabaseSearchPath } from "../install/supabase/0012_search_path.ts"
import { makeBranchPools } from "./BranchPools.ts"
import { distributed } from "./citus/Database.ts"
import { checkCitus } from "./citus/Check.ts"
import { citusSettings } from "./citus/SetLocal.ts"
import { type Login, ownSearchPath, pooled } from "./Login.ts"
import { MainSessions } from "./MainSessions.ts"
import { makeOwnTables } from "./OwnTablesClient.ts"
import { samplesOfPool } from "../../domain/metrics/Sample.ts"
import { PostgresAddress } from "./Address.ts"
import { makeSqlTransactions } from "./pooler/SqlTransactions.ts"
import { checkPooler } from "./pooler/Check.ts"
import { makeRowPath } from "./rows/RowPath.ts"
import { makeStandbys } from "./standbys/Settings.ts"
import { type Standbys } from "./standbys/Standbys.ts"
import { makeAssistant, makeSqlSessions } from "./sql/Sessions.ts"
import { ownHookRunner } from "../../services/identity/HookSettings.ts"
import { StartError } from "../process/StartError.ts"

/** Settings of the connections; times in ms, sizes in bytes. */
export class DbSettings extends Context.Service<
  DbSettings,
  {
    readonly serviceRole: string
    /** Whether the database gets what the SQL of Supabase projects expects. */
    readonly supabase: boolean
    /** Whether that database shows addresses as confirmed that are not. */
    readonly showsConfirmed: boolean
    /** Whether SQL functions are hooks of sign-ins, without the roles of Supabase. */
    readonly hooks: boolean
    /** Whether assistants run SQL. */
    readonly assistant: boolean
    readonly poolSize: number
    readonly branchPoolSize: number
    readonly branchMaxConnections: number
    readonly timeout: number
    readonly sqlTimeout: number
    readonly maxPublicAnswer: number
  }
>()("svc/layers/DbSettings") {
  static readonly layer = Layer.effect(
    DbSettings,
    Effect.gen(function* () {
      return DbSettings.of({
        serviceRole: yield* text("SVC_SERVICE_ROLE", "postgres"),
        supabase: yield* supabaseEnabled,
        showsConfirmed: !(yield* verifyFirst),
        hooks: yield* ownHookRunner,
        assistant: (yield* mcpMode) !== "off",
        poolSize: yield* integer("SVC_DB_POOL_SIZE", 10, 1, 1000),
        branchPoolSize: yield* integer("SVC_BRANCH_POOL_SIZE", 8, 1, 1000),
        branchMaxConnections: yield* integer("SVC_BRANCH_MAX_CONNECTIONS", 50, 2, 10_000),
        timeout: yield* duration("SVC_DB_TIMEOUT", 8_000),
        sqlTimeout: yield* duration("SVC_SQL_TIMEOUT", 30_000),
        maxPublicAnswer: (yield* integer("SVC_DB_MAX_RESPONSE_MIB", 16, 1, 128)) * 1024 * 1024
      })
    })
  )
}

/** Statement timeout of the service's own tables, in ms. */
const ownTimeout = 30_000
/** ms that a transaction may wait in a pooler for a session. */
export const queueMillis = 4_000

const ownSettings = { search_path: ownSearchPath, timezone: "UTC", statement_timeout: String(ownTimeout) }

/** Runs on connections of its own, not through a pooler: what makes a session new is not installed yet. */
const alone = <A, E, R>(address: Login, effect: Effect.Effect<A, E, R>) =>
  address.pooler === undefined
    ? effect
    : Effect.scoped(
        Effect.flatMap(
          makeOwnTables(address, { applicationName: "svc", maxConnections: 4, startupParameters: ownSettings }),
          ({ client }) => Effect.provideService(effect, SqlClient.SqlClient, client)
        )
      )

/** Connections for the service's own tables: keys, flags, webhooks and so on. */
export const layerOwnTables = Layer.effectContext(
  Effect.gen(function* () {
    const sessions = yield* MainSessions
    const { client, pausable, use } = yield* makeOwnTables(pooled(yield* PostgresAddress, ownTimeout + queueMillis), {
      applicationName: "svc",
      maxConnections: 8,
      startupParameters: ownSettings
    })
    yield* sessions.add(pausable)
    yield* (yield* CurrentMeters).sample(() => samplesOfPool("main", "service", "own_tables", use()))
    return Context.make(SqlClient.SqlClient, client)
  })
).pipe(Layer.provide(MainSessions.layer))

/** The main database, with the service's own schema installed. */
export const layerDb = Layer.effect(
  Db,
  Effect.gen(function* () {
    const found = yield* PostgresAddress
    const { schemas, searchPath } = yield* ExposedSchemas
    const {
      assistant: assistants,
      branchMaxConnections,
      branchPoolSize,
      hooks,
      maxPublicAnswer,
      poolSize,
      serviceRole,
      showsConfirmed,
      sqlTimeout,
      supabase,
      timeout
    } = yield* DbSettings
    const answers = {
      searchPath: searchPath(schemas[0]),
      maxPublicAnswer,
      memory: yield* AnswerBudget,
      meters: yield* CurrentMeters
    }

    const { assistant, authenticator, authenticatorPassword, citus } = yield* Effect.mapError(
      alone(found, install({ serviceRole, schemas, supabase, showsConfirmed, hooks, assistant: assistants })),
      explained(found)
    )
    const address: Login = citus ? { ...found, citus } : found
    const callers: Login = { ...address, user: authenticator, password: authenticatorPassword }
    const standbys = yield* makeStandbys(address, callers, serviceRole)
    if (citus) yield* checkCitus(address, standbys !== undefined)
    yield* checkPooler(callers, true)
    const patience = timeout + queueMillis
    const rows = makeRowPath({
      standbys,
      owner: pooled(address, patience),
      authenticator: pooled(callers, patience),
      serviceRole,
      poolSize,
      timeout,
      ...answers
    })
    yield* Effect.addFinalizer(() => rows.close)
    const sqlOptions = {
      role: serviceRole,
      poolSize,
      sqlTimeout,
      searchPath: supabase ? supabaseSearchPath : undefined,
      settings: citus ? citusSettings : undefined
    }
    const session = yield* makeSqlSessions(address, sqlOptions)
    const transaction =
      address.pooler && (yield* makeSqlTransactions(pooled(address, Number.POSITIVE_INFINITY), sqlOptions))
    const sessions = yield* MainSessions
    yield* sessions.add(rows)
    yield* sessions.add(session)
    if (transaction !== undefined) yield* sessions.add(transaction)
    yield* answers.meters.sample(() => [
      ...rows.samples("main"),
      ...samplesOfPool("main", "service_role", "sql", session.use()),
      ...(transaction === undefined ? [] : samplesOfPool("main", "service_role", "sql_transactions", transaction.use()))
    ])
    const reading =
      assistant === undefined || "remedy" in assistant
        ? assistant
        : yield* makeAssistant(
            { ...address, ...assistant },
            { poolSize: Math.min(poolSize, 4), searchPath: sqlOptions.searchPath }
          )
    if (reading !== undefined && "session" in reading) yield* sessions.add(reading.session)
    const branches = yield* makeBranchPools(address, {
      assistant,
      poolSize: branchPoolSize,
      maxConnections: branchMaxConnections,
      timeout,
      sqlTimeout,
      ...answers
    })
    const main: Database = {
      name: address.database,
      run: rows.run,
      session,
      assistant: reading,
      ...(transaction && { transaction })
    }
    const complete = standbys === undefined ? main : recordingWrites(main, standbys)
    return Db.of({ main: citus ? yield* distributed(complete) : complete, ...branches })
  })
).pipe(Layer.provide([MainSessions.layer, DbSettings.layer]), Layer.provideMerge(AnswerBudget.layer))

/** The database whose clients read what they have written, also from standbys. */
const recordingWrites = (main: Database, standbys: Standbys): Database => ({
  ...main,
  run: (actor, statement) =>
    statement.access === "read" || statement.rollback === true
      ? main.run(actor, statement)
      : Effect.flatMap(main.run(actor, statement), (answer) =>
          Effect.map(standbys.wrote(actor.client ?? ""), (lsn) =>
            lsn === undefined
              ? answer
              : Object.assign([...answer], answer.response && { response: answer.response }, { lsn })
          )
        ),
  // The finalizer is added before the session is taken, so that the session has ended and committed when its end is
  // recorded.
  session: (actor) =>
    Effect.andThen(
      Effect.addFinalizer(() => standbys.wrote(actor.client ?? "")),
      main.session(actor)
    ),
  ...(main.transaction && { transaction: recorded(main.transaction, standbys) })
})

const recorded =
  (transaction: Database["transaction"] & {}, standbys: Standbys): Database["transaction"] & {} =>
  (actor, readOnly) =>
    Effect.andThen(
      Effect.addFinalizer(() => standbys.wrote(actor.client ?? "")),
      transaction(actor, readOnly)
    )

/** A failure of the installation in one line. */
const explained =
  (address: Login) =>
  <E>(error: E | SqlError.SqlError): E | StartError => {
    const sql = error as SqlError.SqlError
    if (sql._tag !== "SqlError") return error as E
    const cause = sql.reason.cause
    const why = cause instanceof Error && cause.message !== "" ? cause.message : sql.reason._tag
    const at = `${address.at.host}:${address.at.port}/${address.database}`
    return new StartError({ message: `The database at ${at} cannot be used: ${why.split("\n")[0]}` })
  }
