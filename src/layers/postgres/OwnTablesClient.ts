import { PgClient, type PgConnection, PgPool } from "@effect/sql-pg"
import { Effect, Exit, Fiber, Latch, Scope } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import { SqlClient, type SqlConnection, SqlError } from "effect/sql"
import { connect as connectSocket, type Socket } from "node:net"
import { isOutage } from "../../services/OwnTables.ts"
import { BoundedPool } from "./BoundedPool.ts"
import { atPrimary, clientConfig, type Login, socketAddress } from "./Login.ts"
import { transactions } from "./pooler/Transactions.ts"
import { type PoolUse } from "../../domain/metrics/Sample.ts"
import { endIfUnanswered } from "./client/Unanswered.ts"
import { type Pausable } from "./MainSessions.ts"

/** ms to wait for reserved connections, which are held for longer than a transaction. */
const reservedMillis = 100

/** The statements that `SqlClient` sends separately after a failure. */
const undoing = /^(ROLLBACK|RELEASE) ?/

type Queries = Pick<PgConnection.PgConnection, "query" | "queryValues" | "stream">

/**
 * sql-pg's connection as `SqlClient` expects it. When a session ends, its transaction is rolled back: a ROLLBACK that
 * fails for that reason has nothing left to do, and `SqlClient` would make it a defect that hides the failure.
 */
const wrapped = (connection: Queries, prepares = true): SqlConnection.Connection => {
  type Transform = (<A extends object>(row: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined
  const rows = (text: string, params: ReadonlyArray<unknown>, transform: Transform, prepare: boolean) =>
    Effect.map(connection.query(text, params, prepare), (result) => (transform ? transform(result.rows) : result.rows))
  return {
    execute: (text, params, transform) => {
      const executed = rows(text, params, transform, prepares)
      return undoing.test(text) ? Effect.catchIf(executed, isOutage, () => Effect.succeed([])) : executed
    },
    executeUnprepared: (text, params, transform) => rows(text, params, transform, false),
    executeRaw: (text, params) => connection.query(text, params, prepares),
    executeValues: (text, params) => connection.queryValues(text, params, prepares),
    executeValuesUnprepared: (text, params) => connection.queryValues(text, params, false),
    executeStream: (text, params) => connection.stream(text, params)
  }
}

/** PostgreSQL answers ROLLBACK to the COMMIT of a transaction that has failed. */
const commit = (connection: SqlConnection.Connection) =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) =>
    (result as PgConnection.Result).command === "ROLLBACK"
      ? Effect.fail(
          new SqlError.SqlError({
            reason: new SqlError.UnknownError({
              cause: new Error("COMMIT rolled back an aborted transaction"),
              message: "COMMIT rolled back an aborted transaction",
              operation: "commit"
            })
          })
        )
      : Effect.void
  )

/** Fails a statement as a lost connection does, for callers of `onOwnTables`. */
const noConnection = (cause: unknown) =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause, message: "No connection is available", operation: "acquire" })
  })

/** Counts the connections of one kind that are in use, and waits until there are none. */
class UseCount {
  private count = 0
  private waiting: Array<() => void> = []

  readonly acquire = () => {
    this.count++
  }

  readonly release = () => {
    this.count--
    if (this.count === 0) for (const resume of this.waiting.splice(0)) resume()
  }

  readonly none = Effect.callback<void>((resume) => {
    if (this.count === 0) resume(Effect.void)
    else this.waiting.push(() => resume(Effect.void))
  })
}

interface OwnTablesOptions {
  readonly applicationName: string
  readonly maxConnections: number
  readonly startupParameters: Readonly<Record<string, string>>
}

/**
 * sql-pg's pooled client, with a pause: new statements and transactions then wait, running ones end, and the connections
 * are closed. Connections from `reserve` are closed after a short wait; they are sessions of their own, behind a pooler too.
 */
export const makeOwnTables = Effect.fnUntraced(function* (login: Login, options: OwnTablesOptions) {
  const { applicationName, maxConnections, startupParameters } = options
  const sockets = new Set<Socket>()
  const configOf = (one: Login): PgPool.Config => ({
    ...clientConfig(one),
    applicationName,
    maxConnections,
    ...(one.shared === undefined && { startupParameters }),
    stream: () => {
      const server = atPrimary(one)
      const socket = connectSocket({
        ...socketAddress(server.at),
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: 30_000
      })
      sockets.add(socket)
      endIfUnanswered(server, socket)
      return socket.once("close", () => sockets.delete(socket))
    }
  })
  const shared = login.shared && transactions({ ...startupParameters, application_name: applicationName })
  const make = Effect.gen(function* () {
    const scope = yield* Scope.make()
    const pool = yield* Scope.provide(PgPool.make(configOf(login)), scope)
    const own =
      login.shared === undefined ? pool : yield* Scope.provide(PgPool.make(configOf(login.shared.behind)), scope)
    return { scope, pool, own }
  })
  let current = yield* make
  yield* Effect.addFinalizer(() => Effect.suspend(() => Scope.close(current.scope, Exit.void)))
  const gate = yield* Latch.make(true)
  const transient = new UseCount()
  const reserved = new UseCount()

  /** Runs `body` once the gate is open, in the same step as it checks the gate. */
  const through = <A, E, R>(body: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => (gate.isOpen() ? body : Effect.andThen(gate.await, through(body))))
  // sql-pg's own pool would let statements wait for a connection without a limit.
  const places = new BoundedPool<object, never>({
    size: options.maxConnections,
    open: () => Effect.sync(() => ({})),
    close: () => undefined,
    isDead: () => false
  })
  const takePlace = Effect.mapError(places.take(""), noConnection)
  const counted = (
    uses: UseCount,
    take: (of: typeof current) => Effect.Effect<SqlConnection.Connection, SqlError.SqlError, Scope.Scope>
  ) =>
    through(Effect.acquireRelease(Effect.sync(uses.acquire), () => Effect.sync(uses.release))).pipe(
      Effect.andThen(Effect.acquireRelease(takePlace, (place) => Effect.sync(() => places.give(place)))),
      Effect.andThen(Effect.suspend(() => take(current)))
    )
  const alone = (connection: PgConnection.PgConnection, { pool }: typeof current) =>
    shared === undefined ? wrapped(connection) : wrapped(shared.each(connection, pool), false)
  const whole = (connection: PgConnection.PgConnection, { pool }: typeof current) =>
    shared === undefined ? wrapped(connection) : wrapped(shared.whole(connection, pool), false)

  const borrower: SqlConnection.Borrower = (use) =>
    through(
      Effect.uninterruptibleMask((restore) => {
        transient.acquire()
        const used = Effect.flatMap(takePlace, (place) =>
          Effect.ensuring(
            restore(Effect.suspend(() => current.pool.use((connection) => use(alone(connection, current))))),
            Effect.sync(() => places.give(place))
          )
        )
        return Effect.ensuring(used, Effect.sync(transient.release))
      })
    )

  const client = yield* SqlClient.make({
    acquirer: counted(transient, (of) => Effect.map(of.pool.get, (connection) => alone(connection, of))),
    transactionAcquirer: counted(transient, (of) => Effect.map(of.pool.reserve, (connection) => whole(connection, of))),
    borrower,
    compiler: PgClient.makeCompiler(),
    driver: "pg",
    prepareTransactionControls: true,
    commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "postgresql"]]
  }).pipe(Effect.provide(Reactivity.layer))
  Object.assign(client, {
    reserve: counted(reserved, ({ own }) => Effect.map(own.reserve, (connection) => wrapped(connection)))
  })

  const pausable: Pausable = {
    pause: Effect.gen(function* () {
      yield* gate.close
      yield* transient.none
      yield* Effect.timeoutOption(reserved.none, reservedMillis)
      const [{ scope }, open] = [current, [...sockets]]
      current = yield* Effect.orDie(make)
      // Closing waits for reserved connections; they are cut once the others have had time to close properly.
      const closing = yield* Effect.forkDetach(Scope.close(scope, Exit.void))
      yield* Effect.timeoutOption(Fiber.await(closing), reservedMillis)
      for (const socket of open) socket.destroy()
    }),
    resume: Effect.asVoid(gate.open)
  }
  /** `open` comes from sql-pg's own pool; the busy ones are counted here only. */
  const use = (): PoolUse => ({ ...places.use, open: sockets.size })
  return { client, pausable, use }
})
