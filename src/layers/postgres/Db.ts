import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { duration, integer, text } from "../../domain/Settings.ts"
import { AnswerBudget } from "../../services/access/AnswerBudget.ts"
import { CurrentMeters } from "../../services/metrics/Meters.ts"
import { type Database, Db } from "../../services/ports/Db.ts"
import { RowSettings } from "../../services/rows/Settings.ts"
import { supabaseEnabled } from "../../services/supabase/Settings.ts"
import { install } from "../install/Install.ts"
import { makeBranchPools } from "./BranchPools.ts"
import { type Login, ownSearchPath } from "./Login.ts"
import { MainSessions } from "./MainSessions.ts"
import { makeOwnTables } from "./OwnTablesClient.ts"
import { samplesOfPool } from "../../domain/metrics/Pools.ts"
import { PostgresAddress } from "./Address.ts"
import { makeRowPath } from "./rows/RowPath.ts"
import { makeStandbys } from "./standbys/Settings.ts"
import { type Standbys } from "./standbys/Standbys.ts"
import { makeSqlSessions } from "./sql/Sessions.ts"
import { StartError } from "../process/StartError.ts"

/** Settings of the connections; times in ms, sizes in bytes. */
export class DbSettings extends Context.Service<
  DbSettings,
  {
    readonly serviceRole: string
    /** Whether the database gets what the SQL of Supabase projects expects. */
    readonly supabase: boolean
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

/** Connections for the service's own tables: keys, flags, webhooks and so on. */
export const layerOwnTables = Layer.effectContext(
  Effect.gen(function* () {
    const sessions = yield* MainSessions
    const { client, pausable, use } = yield* makeOwnTables(yield* PostgresAddress, {
      applicationName: "svc",
      maxConnections: 8,
      startupParameters: { search_path: ownSearchPath, timezone: "UTC", statement_timeout: "30000" }
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
    const address = yield* PostgresAddress
    const { schemas, searchPath } = yield* RowSettings
    const {
      branchMaxConnections,
      branchPoolSize,
      maxPublicAnswer,
      poolSize,
      serviceRole,
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

    const { authenticator, authenticatorPassword } = yield* Effect.mapError(
      install({ serviceRole, schemas, supabase }),
      explained(address)
    )
    const standbys = yield* makeStandbys(address, serviceRole)
    const rows = makeRowPath({
      standbys,
      owner: address,
      authenticator: { ...address, user: authenticator, password: authenticatorPassword },
      serviceRole,
      poolSize,
      timeout,
      ...answers
    })
    yield* Effect.addFinalizer(() => rows.close)
    const session = yield* makeSqlSessions(address, {
      role: serviceRole,
      poolSize,
      sqlTimeout,
      // Migrations of Supabase call functions of extensions without their schema.
      searchPath: supabase ? '"$user", public, extensions' : undefined
    })
    const sessions = yield* MainSessions
    yield* sessions.add(rows)
    yield* sessions.add(session)
    yield* answers.meters.sample(() => [
      ...rows.samples("main"),
      ...samplesOfPool("main", "service_role", "sql", session.use())
    ])
    const branches = yield* makeBranchPools(address, {
      poolSize: branchPoolSize,
      maxConnections: branchMaxConnections,
      timeout,
      sqlTimeout,
      ...answers
    })
    const main = { name: address.database, run: rows.run, session }
    return Db.of({ main: standbys === undefined ? main : recordingWrites(main, standbys), ...branches })
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
  // Before the session is taken, so that it has ended and committed when its end is recorded.
  session: (actor) =>
    Effect.andThen(
      Effect.addFinalizer(() => standbys.wrote(actor.client ?? "")),
      main.session(actor)
    )
})

/** A failure of the installation in one line. */
const explained =
  (address: Login) =>
  <E>(error: E | SqlError.SqlError): E | StartError => {
    const sql = error as SqlError.SqlError
    if (sql._tag !== "SqlError") return error as E
    const cause = sql.reason.cause
    const why = cause instanceof Error && cause.message !== "" ? cause.message : sql.reason._tag
    const at = `${address.host}:${address.port}/${address.database}`
    return new StartError({ message: `The database at ${at} cannot be used: ${why.split("\n")[0]}` })
  }
