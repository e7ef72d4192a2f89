import { Effect, Layer, Logger, Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { isCitusSql } from "../../domain/sql/Citus.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"
import { changeSource } from "../../services/changes/Settings.ts"
import { recoveryEnabled } from "../../services/recovery/Settings.ts"
import { checkPrivileges } from "../install/Privileges.ts"
import { layerExternal, PostgresAddress } from "../postgres/Address.ts"
import { DbSettings } from "../postgres/Db.ts"
import { type Login, ownSearchPath } from "../postgres/Login.ts"
import { MainSessions } from "../postgres/MainSessions.ts"
import { makeOwnTables } from "../postgres/OwnTablesClient.ts"
import { checkCitus } from "../postgres/citus/Check.ts"
import { checkServers } from "../postgres/servers/ServerCheck.ts"
import { standbySettings } from "../postgres/standbys/Settings.ts"
import { Standby } from "../postgres/standbys/Standby.ts"
import { givenKeys } from "../process/Secrets.ts"
import { workerCount } from "../process/WorkerSettings.ts"
import { type Checked, faulty, type CheckFinding, reasonFor, wanting } from "./Finding.ts"
import { missingRights, serverStateSql, type ServerState } from "./Rights.ts"

const part = "PostgreSQL"

/** Connections that this process and its workers open at most (docs/operations.md, "Size"). */
const mostConnections = Effect.gen(function* () {
  const { branchMaxConnections, poolSize } = yield* DbSettings
  const workers = yield* workerCount
  return (pooler: boolean) => workers * ((pooler ? 9 + poolSize : 7 * poolSize + 40) + branchMaxConnections)
})

const connectionFindings = Effect.fnUntraced(function* (login: Login, { connections }: ServerState) {
  const needed = (yield* mostConnections)(login.pooler !== undefined)
  if (needed <= connections) return []
  return [
    wanting(
      part,
      `Under load, requests wait or fail: the server allows ${connections} connections, and this service opens up to ${needed}. Lower SVC_DB_POOL_SIZE and SVC_BRANCH_MAX_CONNECTIONS, or raise the limit and restart PostgreSQL`,
      "As an administrator",
      [`alter system set max_connections = ${Math.ceil((needed + 20) / 50) * 50}`]
    )
  ]
})

/** What reading the write-ahead log needs. */
const logFindings = Effect.fnUntraced(function* (state: ServerState) {
  const readers = [
    ...((yield* changeSource) === "wal" ? ["SVC_CHANGES=wal"] : []),
    ...((yield* recoveryEnabled) ? ["SVC_PITR=true"] : [])
  ]
  const found: Array<CheckFinding> = []
  for (const reader of readers) {
    const level = reader === "SVC_CHANGES=wal" ? "logical" : "replica"
    const by = "As an administrator"
    if (!state.replication) {
      found.push({
        ...faulty(part, `${reader} requires a login that may replicate`),
        sql: { by, statements: [`alter role ${quoteName(state.me)} replication`] }
      })
    }
    if (state.wal_level !== "logical" && state.wal_level !== level) {
      found.push({
        ...faulty(
          part,
          `${reader} requires wal_level=${level}, but the server has ${state.wal_level}; restart PostgreSQL after`
        ),
        sql: { by, statements: [`alter system set wal_level = ${level}`] }
      })
    }
  }
  if (readers.length > 0 && !state.limits_slots) {
    found.push(
      wanting(part, "A log that is not read fills the disk", "As an administrator", [
        "alter system set max_slot_wal_keep_size = '4GB'",
        "select pg_reload_conf()"
      ])
    )
  }
  if (readers.includes("SVC_PITR=true") && (yield* givenKeys).current === undefined) {
    found.push(faulty(part, "SVC_PITR requires SVC_ENCRYPTION_KEY with an external database"))
  }
  return found
})

/** The login of callers, once the service has been installed. */
const callersOf = (sql: SqlClient.SqlClient, login: Login) =>
  Effect.gen(function* () {
    const rows = yield* sql<{ name: string; value: string }>`select name, value from svc.settings
      where name in ('authenticator_role', 'authenticator_password')`
    const { authenticator_password, authenticator_role } = Object.fromEntries(
      rows.map(({ name, value }) => [name, value])
    )
    return authenticator_role === undefined || authenticator_password === undefined
      ? login
      : { ...login, user: authenticator_role, password: Redacted.make(authenticator_password) }
  }).pipe(Effect.orElseSucceed(() => login))

const standbyFindings = Effect.fnUntraced(function* (login: Login, sql: SqlClient.SqlClient) {
  const { places } = yield* standbySettings(login)
  if (places.length === 0) return []
  const callers = yield* callersOf(sql, login)
  return yield* Effect.forEach(
    places,
    (at) =>
      Effect.gen(function* () {
        const standby = yield* Effect.acquireRelease(
          Effect.sync(() => new Standby(login, callers, at)),
          (one) => Effect.sync(() => one.close())
        )
        if (yield* Effect.promise(standby.refresh)) return []
        const reason = standby.reason === "" ? "" : `: ${standby.reason}`
        return [wanting("Standby", `${standby.name} gets no reads: it ${standby.unusable}${reason}`)]
      }),
    { concurrency: "unbounded" }
  ).pipe(Effect.map((found) => found.flat()))
})

/** What a Citus cluster lacks; which workers admit the roles is logged as at the start. */
const citusFindings = Effect.fnUntraced(function* (login: Login, sql: SqlClient.SqlClient) {
  const [found] = yield* sql.unsafe<{ citus: boolean }>(`select ${isCitusSql} as citus`)
  if (found?.citus !== true) return []
  const { places } = yield* standbySettings(login)
  yield* checkCitus(login, places.length > 0).pipe(Effect.provideService(SqlClient.SqlClient, sql))
  const roles = yield* sql<{ name: string }>`select rolname::text as name from pg_catalog.pg_roles
    where rolname in ('anon', 'authenticated') and not rolcanlogin order by 1`
  const needed = (yield* mostConnections)(false)
  const workers = yield* sql<{ node: string; connections: string }>`select nodename || ':' || nodeport as node,
    result as connections from run_command_on_workers('show max_connections') where success`
  return [
    ...roles.map(({ name }) =>
      wanting(
        "Citus",
        `Requests of the role ${name} for distributed tables are 503, because Citus connects to workers as this role, which may not log in. The service changes that at its start if its login may`,
        "As an administrator",
        [`alter role ${name} login`]
      )
    ),
    ...workers.flatMap(({ connections, node }) =>
      Number(connections) >= needed
        ? []
        : [
            wanting(
              "Citus",
              `Under load, requests wait or fail: the worker ${node} allows ${connections} connections, and this service opens up to ${needed}. Lower SVC_DB_POOL_SIZE, or raise max_connections of the worker`
            )
          ]
    )
  ]
})

/** What the installation will refuse. */
const installFindings = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, serviceRole: string) {
  const { schemas } = yield* ExposedSchemas
  return yield* checkPrivileges(sql, { schemas, serviceRole }).pipe(
    Effect.as([]),
    Effect.catchTag("InstallError", ({ message }) => Effect.succeed([faulty(part, message)]))
  )
})

const findings = Effect.gen(function* () {
  const login = yield* PostgresAddress
  yield* checkServers(login, false)
  const { serviceRole } = yield* DbSettings
  const { client: sql } = yield* makeOwnTables(login, {
    applicationName: "svc check",
    maxConnections: 1,
    startupParameters: { search_path: ownSearchPath, statement_timeout: "10000" }
  })
  const [state] = yield* sql.unsafe<ServerState>(serverStateSql, [serviceRole])
  if (state === undefined) return []
  return [
    ...(yield* installFindings(sql, serviceRole)),
    ...missingRights(state, serviceRole),
    ...(yield* connectionFindings(login, state)),
    ...(yield* logFindings(state)),
    ...(yield* standbyFindings(login, sql)),
    ...(yield* citusFindings(login, sql))
  ]
})

/** What the service would log is a finding too. */
const collecting = (into: Array<CheckFinding>) =>
  Logger.layer([
    Logger.make<unknown, void>(({ logLevel, message }) => {
      if (logLevel === "Warn" || logLevel === "Error") into.push(wanting(part, [message].flat().map(String).join(" ")))
    })
  ])

/** Checks the servers of DATABASE_URL, DATABASE_DIRECT_URL and DATABASE_READ_URLS, and changes nothing there. */
export const checkDatabase = (uri: Redacted.Redacted | undefined): Effect.Effect<Checked, never, Scope.Scope> => {
  if (uri === undefined) return Effect.succeed({ part, at: "embedded", findings: [] })
  const logged: Array<CheckFinding> = []
  return Effect.gen(function* () {
    const { at, database } = yield* PostgresAddress
    const found = yield* Effect.catchCause(findings, (cause) => Effect.succeed([faulty(part, reasonFor(cause))]))
    return { part, at: `${at.host}:${at.port}/${database}`, findings: [...found, ...logged] }
  }).pipe(
    Effect.provide(
      Layer.mergeAll(layerExternal(uri), DbSettings.layer, ExposedSchemas.layer, MainSessions.layer).pipe(
        Layer.provideMerge(collecting(logged))
      )
    ),
    Effect.catchCause((cause) =>
      Effect.succeed({ part, at: "DATABASE_URL", findings: [faulty(part, reasonFor(cause))] })
    )
  )
}
