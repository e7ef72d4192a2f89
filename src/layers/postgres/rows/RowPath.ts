import { PgConnection } from "@effect/sql-pg"
import { Effect, Exit } from "effect"
import { type SqlError } from "effect/sql/SqlError"
import { connect as connectSocket } from "node:net"
import { type Unavailable } from "../../../domain/errors.ts"
import { type Actor, type Answer, type Database, type Statement } from "../../../services/ports/Db.ts"
import { clientConfig, type Login, socketAddress } from "../Login.ts"
import { type Pausable } from "../MainSessions.ts"
import { databaseUnreachable } from "../../../services/OwnTables.ts"
import { asApiError, RowPool } from "./Pool.ts"

export interface RowPathOptions {
  /** Login for anon and authenticated callers: `svc_authenticator`, or a branch's equivalent. */
  readonly authenticator: Login
  /** Login for service keys: the owner's, or in a branch one that may become the branch's role. */
  readonly owner: Login
  /** Database role of service keys. */
  readonly serviceRole: string
  readonly poolSize: number
  /** Statement timeout in ms. */
  readonly timeout: number
}

/** Larger messages from PostgreSQL are rejected: a result is kept in memory as a whole. */
const maxMessageSize = 128 * 1024 * 1024

const connect = (login: Login, role: string, timeout: number) => (onClose: () => void) =>
  PgConnection.make({
    ...clientConfig(login),
    stream: () => connectSocket({ ...socketAddress(login), noDelay: true, keepAlive: true }).once("close", onClose),
    applicationName: "svc rows",
    multiplex: true,
    preparedStatementCacheSize: 500,
    maxMessageSize,
    startupParameters: {
      role,
      statement_timeout: String(timeout),
      idle_in_transaction_session_timeout: String(timeout),
      timezone: "UTC",
      datestyle: "ISO, YMD",
      // JIT compilation pays off after seconds of execution, and itself takes seconds for large statements.
      jit: "off",
      // Set but empty, so that policies read the same on a new connection as after a reset.
      "request.jwt.claims": "",
      "request.jwt.sub": ""
    }
  })

/** By the protocol's cancel request, which needs no privilege; the driver's types do not list it. */
const cancel = (connection: PgConnection.PgConnection) =>
  (connection as unknown as { readonly cancel: Effect.Effect<void> }).cancel

const setClaims = "select set_config('request.jwt.claims', $1, false), set_config('request.jwt.sub', $2, false)"

/** Unprepared: user code may have deallocated all prepared statements. */
const plain = (connection: PgConnection.PgConnection, text: string, params: ReadonlyArray<string> = []) =>
  connection.queryValues(text, params, false)

/** Resets everything that user code can leave in a session, except prepared statements, which it counts. */
const resets = [
  "reset session authorization",
  "reset role",
  "reset all",
  "close all",
  "unlisten *",
  "discard temp",
  "select pg_advisory_unlock_all(), (select count(*) from pg_prepared_statements where from_sql)::text"
]

/** Fails if the connection can't be cleaned; the pool then drops it. */
const reset = (connection: PgConnection.PgConnection) =>
  Effect.flatMap(together(resets.map((text) => plain(connection, text))), (results) =>
    rowOf(results.at(-1))[1] === "0" ? Effect.void : Effect.fail("prepared statements remain")
  )

/**
 * Sends all statements in one flush, in order, and waits for all; fails with the first failure. Running each effect
 * writes it to the connection synchronously, which is what makes it one flush.
 */
const together = <A>(all: ReadonlyArray<Effect.Effect<A, SqlError>>): Effect.Effect<ReadonlyArray<A>, SqlError> =>
  Effect.callback((resume) => {
    const values: Array<A> = []
    let failure: Effect.Effect<never, SqlError> | undefined
    let left = all.length
    for (const [index, one] of all.entries()) {
      Effect.runFork(one).addObserver((exit) => {
        if (Exit.isSuccess(exit)) values[index] = exit.value
        else failure ??= Effect.failCause(exit.cause)
        if (--left === 0) resume(failure ?? Effect.succeed(values))
      })
    }
  })

/**
 * The row path of one database: three pools, one per role, each connection pinned to its role at startup, so that no
 * request can change the role of the next.
 *
 * | request | sent in one flush | connection |
 * |---|---|---|
 * | clean read, no claims | the statement | pipelined if quick |
 * | clean write, no claims | the statement | exclusive |
 * | clean read with claims | session claims, the statement; the result names the claims it ran under | pipelined if quick |
 * | clean write with claims | claims, BEGIN, claims, the statement, COMMIT | exclusive |
 * | any other: user code may run, or a time zone or rollback is requested, or a service key has claims | DISCARD SEQUENCES, claims, BEGIN (READ ONLY for reads), claims, the request's settings, the statement, the response settings it chose, COMMIT or ROLLBACK | exclusive; reset afterwards |
 *
 * "Clean" statements run no user code; see `Statement`.
 */
export const makeRowPath = (
  options: RowPathOptions
): Pausable & { readonly run: Database["run"]; readonly close: Effect.Effect<void> } => {
  const pool = (login: Login, role: string) =>
    new RowPool({
      connect: connect(login, role, options.timeout),
      cancel,
      size: options.poolSize
    })
  const pools = {
    anon: pool(options.authenticator, "anon"),
    authenticated: pool(options.authenticator, "authenticated"),
    service_role: pool(options.owner, options.serviceRole)
  }

  const run = (actor: Actor, statement: Statement): Effect.Effect<Answer, SqlError | Unavailable> => {
    const pool = pools[actor.role]
    const claimed = actor.claims !== "" || actor.role === "authenticated"
    const plain = statement.clean && statement.timezone === undefined && statement.rollback !== true
    if (!claimed && plain) {
      const send = (connection: PgConnection.PgConnection) => alone(connection, statement)
      return statement.access === "read" ? pool.share(statement.text, send) : pool.use(send)
    }
    // Other requests with service keys have no claims and don't set them, so claims must not outlive the statement.
    const clean = plain && actor.role !== "service_role"
    if (clean && statement.access === "read") {
      return pool.share(statement.text, (connection) => claimedRead(connection, actor, statement))
    }
    return pool.use((connection) => transaction(connection, actor, statement, clean), clean ? undefined : reset)
  }

  const all = Object.values(pools)
  const anonError = asApiError(true)
  const signedInError = asApiError(false)
  return {
    run: (actor, statement) =>
      Effect.mapError(run(actor, statement), actor.role === "anon" ? anonError : signedInError),
    close: Effect.forEach(all, (pool) => pool.close, { discard: true }),
    pause: Effect.forEach(all, ({ pause }) => pause, { discard: true, concurrency: "unbounded" }),
    resume: Effect.forEach(all, ({ resume }) => resume, { discard: true })
  }
}

const rowOf = (rows: ReadonlyArray<ReadonlyArray<unknown>> | undefined): Answer => rows?.[0] ?? []

const alone = (connection: PgConnection.PgConnection, statement: Statement) =>
  Effect.map(connection.queryValues(statement.text, statement.params, statement.prepare), rowOf)

const setTurn = `${setClaims}, set_config('svc.turn', $3, false)`
let turns = 0

/**
 * Claims, then the statement, on a connection where other requests' pairs may come directly before and after. The result
 * contains the turn it ran under (a turn's settings are set all or none); one of another turn is never returned.
 *
 * The turns differ if user code deallocated the prepared claims statement: the driver notices and sends it again, but
 * the statement has run by then. On the second try it is prepared.
 */
const claimedRead = (
  connection: PgConnection.PgConnection,
  actor: Actor,
  statement: Statement,
  tries = 2
): Effect.Effect<Answer, SqlError | Unavailable> => {
  const turn = String(turns++)
  const text = `select *, current_setting('svc.turn', true) from (${statement.text}) _svc_answer`
  return Effect.flatMap(
    together([
      connection.queryValues(setTurn, [actor.claims, actor.sub, turn]),
      connection.queryValues(text, statement.params, statement.prepare)
    ]),
    (results) => {
      const row = rowOf(results[1])
      if (row.at(-1) === turn) return Effect.succeed(row)
      return tries > 1 ? claimedRead(connection, actor, statement, tries - 1) : Effect.fail(databaseUnreachable())
    }
  )
}

/** Names and values of the settings for this transaction. */
const settingsOf = ({ context, timezone }: Statement): ReadonlyArray<string> => {
  const settings: Array<string> = []
  if (timezone !== undefined) settings.push("timezone", timezone)
  if (context !== undefined) {
    settings.push("request.method", context.method, "request.path", context.path)
    settings.push("request.headers", context.headers, "request.cookies", context.cookies)
  }
  return settings
}

const setLocal = (count: number) =>
  `select ${Array.from({ length: count }, (_, at) => `set_config($${2 * at + 1}, $${2 * at + 2}, true)`).join(", ")}`

const responseSettings =
  "select coalesce(current_setting('response.status', true), ''), coalesce(current_setting('response.headers', true), '')"

const withResponse = (answer: Answer, [status, headers]: Answer): Answer =>
  status === "" && headers === ""
    ? answer
    : Object.assign([...answer], { response: { status: String(status), headers: String(headers) } })

const transaction = (connection: PgConnection.PgConnection, actor: Actor, statement: Statement, clean: boolean) => {
  const reading = statement.access === "read"
  const send = (text: string, params: ReadonlyArray<string> = []) => connection.queryValues(text, params, clean)
  const claims = send(setClaims, [actor.claims, actor.sub])
  const settings = clean ? [] : settingsOf(statement)
  const rollback = statement.rollback === true
  const before = [
    // User code must not see the last sequence values of earlier clean statements (lastval).
    ...(clean ? [] : [send("discard sequences")]),
    // Also before the transaction: if the driver finds the statement no longer prepared, it sends it again after the
    // COMMIT, where it must run under these claims and not those of the previous request.
    claims,
    send(reading ? "begin read only" : "begin"),
    // Inside the transaction, so that the statement fails if the claims could not be set.
    claims,
    ...(settings.length === 0 ? [] : [send(setLocal(settings.length / 2), settings)])
  ]
  const after = [
    // Checks deferred constraints, which otherwise only a COMMIT would.
    ...(rollback && !reading ? [send("set constraints all immediate")] : []),
    ...(clean ? [] : [send(responseSettings)]),
    send(reading || rollback ? "rollback" : "commit")
  ]
  const main = connection.queryValues(statement.text, statement.params, clean ? statement.prepare : false)
  return Effect.map(together([...before, main, ...after]), (results) => {
    const rows = results[before.length]
    const answer = statement.lines === true ? [rows?.map(([line]) => String(line)).join("\n")] : rowOf(rows)
    return clean ? answer : withResponse(answer, rowOf(results.at(-2)))
  })
}
