import { PgConnection } from "@effect/sql-pg"
import { Effect, Exit } from "effect"
import { type SqlError } from "effect/sql/SqlError"
import { connect as connectSocket } from "node:net"
import { type Unavailable } from "../../../domain/errors.ts"
import { type Actor, type Answer, type Database, type Statement } from "../../../services/ports/Db.ts"
import { clientConfig, type Login, socketAddress } from "../Login.ts"
import { type Pausable } from "../MainSessions.ts"
import { databaseUnreachable } from "../../../services/OwnTables.ts"
import { asOurs, RowPool } from "./Pool.ts"

export interface RowPathOptions {
  /** Login of `svc_authenticator`, which anon and authenticated callers come through; in a branch, of one like it. */
  readonly authenticator: Login
  /** Login that service keys come through: the owner's; in a branch, one that may become the branch's own role. */
  readonly owner: Login
  /** Database role of service keys. */
  readonly serviceRole: string
  readonly poolSize: number
  /** Statement timeout in ms. */
  readonly timeout: number
}

/** A larger message from PostgreSQL is refused: the answer is held in memory as one piece. */
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
      // Compiling a statement pays off after seconds of running, and takes seconds itself for large ones.
      jit: "off",
      // Present and empty, so that a policy reads the same on a fresh connection as after a reset.
      "request.jwt.claims": "",
      "request.jwt.sub": ""
    }
  })

/** From a connection of the same login, which may cancel its own without being a superuser. */
const cancel = (login: Login) => (connection: PgConnection.PgConnection) =>
  Effect.scoped(
    Effect.flatMap(PgConnection.make(clientConfig(login)), (side) =>
      side.query("select pg_cancel_backend($1)", [connection.processId])
    )
  )

const setClaims = "select set_config('request.jwt.claims', $1, false), set_config('request.jwt.sub', $2, false)"

/** Unprepared: user code may have thrown every prepared statement away. */
const plain = (connection: PgConnection.PgConnection, text: string, params: ReadonlyArray<string> = []) =>
  connection.queryValues(text, params, false)

/** Everything that user code can leave in a session, but for what it prepared. */
const resets = [
  "reset session authorization",
  "reset role",
  "reset all",
  "close all",
  "unlisten *",
  "discard temp",
  "select pg_advisory_unlock_all(), (select count(*) from pg_prepared_statements where from_sql)::text"
]

/** Fails when the connection can't be made as new: whoever called drops it then. */
const reset = (connection: PgConnection.PgConnection) =>
  Effect.flatMap(together(resets.map((text) => plain(connection, text))), (results) =>
    rowOf(results.at(-1))[1] === "0" ? Effect.void : Effect.fail("prepared statements are left")
  )

/**
 * Sends all at once, in order, and waits for all; the first failure is the one reported. Each is handed to the
 * connection before the next one starts, which is what makes it one flush.
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
 * The row path of one database: three pools, each with its role pinned when a connection starts, so that nothing a
 * request does can change whom the next one runs as.
 *
 * | caller | sent in one flush |
 * |---|---|
 * | no claims, clean | the statement |
 * | claims, clean read | claims for the session, the statement; the answer tells whose claims it was made under |
 * | claims, clean write | claims, BEGIN, claims, the statement, COMMIT |
 * | anything that may run user code, or has wishes about its transaction | BEGIN (READ ONLY for reads), claims, the request's settings, the statement, what it left for the response, COMMIT or ROLLBACK; then the resets |
 */
export const makeRowPath = (
  options: RowPathOptions
): Pausable & { readonly run: Database["run"]; readonly close: Effect.Effect<void> } => {
  const pool = (login: Login, role: string) =>
    new RowPool({
      connect: connect(login, role, options.timeout),
      cancel: cancel(login),
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
    // A service key's connection is shared with calls that carry no claims: they must not outlive the statement.
    const clean = plain && actor.role !== "service_role"
    if (clean && statement.access === "read") {
      return pool.share(statement.text, (connection) => claimedRead(connection, actor, statement))
    }
    return pool.use((connection) => transaction(connection, actor, statement, clean), clean ? undefined : reset)
  }

  const all = Object.values(pools)
  const forAnon = asOurs(true)
  const forOthers = asOurs(false)
  return {
    run: (actor, statement) => Effect.mapError(run(actor, statement), actor.role === "anon" ? forAnon : forOthers),
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
 * Claims, then the statement, on a connection where other callers' pairs may come before and after. The answer says
 * itself under whose claims it was made (all settings of a turn are set or none): no other one is ever given out.
 *
 * They differ when user code threw the prepared claims statement away: the driver notices and sends it once more, but
 * the statement has run by then. The second try finds it prepared.
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

/** Names and values of the settings that are for one transaction. */
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
    // The last numbers that clean statements drew are no business of user code.
    ...(clean ? [] : [send("discard sequences")]),
    // Before the transaction too: should the driver find the statement no longer prepared, it sends it once more
    // after COMMIT, and must meet these claims and not the ones of the caller before.
    claims,
    send(reading ? "begin read only" : "begin"),
    // Inside it, so that the statement is refused if the claims could not be set.
    claims,
    ...(settings.length === 0 ? [] : [send(setLocal(settings.length / 2), settings)])
  ]
  const after = [
    // What only a COMMIT would find wrong is found without one.
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
