import { PgClient, type PgConnection, PgPool } from "@effect/sql-pg"
import { Effect, Exit, Fiber, Latch, Scope } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import { SqlClient, type SqlConnection, SqlError } from "effect/sql"
import { connect as connectSocket, type Socket } from "node:net"
import { clientConfig, type Login, socketAddress } from "./Login.ts"
import { type Pausable } from "./MainSessions.ts"

/** How long one waits for connections that somebody holds for longer than a transaction, in ms. */
const reservedMillis = 100

/** sql-pg's connection as the client wants it. */
const wrapped = (connection: PgConnection.PgConnection): SqlConnection.Connection => {
  type Transform = (<A extends object>(row: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined
  const rows = (text: string, params: ReadonlyArray<unknown>, transform: Transform, prepare: boolean) =>
    Effect.map(connection.query(text, params, prepare), (result) => (transform ? transform(result.rows) : result.rows))
  return {
    execute: (text, params, transform) => rows(text, params, transform, true),
    executeUnprepared: (text, params, transform) => rows(text, params, transform, false),
    executeRaw: (text, params) => connection.query(text, params),
    executeValues: (text, params) => connection.queryValues(text, params),
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

/** Who holds connections of one kind, and who waits for there to be none. */
class Users {
  private count = 0
  private waiting: Array<() => void> = []

  readonly come = () => {
    this.count++
  }

  readonly go = () => {
    this.count--
    if (this.count === 0) for (const resume of this.waiting.splice(0)) resume()
  }

  readonly none = Effect.callback<void>((resume) => {
    if (this.count === 0) resume(Effect.void)
    else this.waiting.push(() => resume(Effect.void))
  })
}

/**
 * sql-pg's pooled client, which can be paused: statements and transactions that come wait then, those under way end, and
 * the connections are closed. Connections got by `reserve` are waited for a moment and then cut.
 */
export const makeOwnTables = Effect.fnUntraced(function* (login: Login, options: PgPool.Config) {
  const sockets = new Set<Socket>()
  const config: PgPool.Config = {
    ...clientConfig(login),
    ...options,
    stream: () => {
      const socket = connectSocket({
        ...socketAddress(login),
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: 30_000
      })
      sockets.add(socket)
      return socket.once("close", () => sockets.delete(socket))
    }
  }
  const make = Effect.gen(function* () {
    const scope = yield* Scope.make()
    return { scope, pool: yield* Scope.provide(PgPool.make(config), scope) }
  })
  let current = yield* make
  yield* Effect.addFinalizer(() => Effect.suspend(() => Scope.close(current.scope, Exit.void)))
  const gate = yield* Latch.make(true)
  const brief = new Users()
  const reserving = new Users()

  /** Counts whoever comes through the gate, with nothing in between. */
  const through = <A, E, R>(body: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => (gate.isOpen() ? body : Effect.andThen(gate.await, through(body))))
  const counted = (
    users: Users,
    take: (pool: PgPool.PgPool) => Effect.Effect<PgConnection.PgConnection, SqlError.SqlError, Scope.Scope>
  ) =>
    Effect.andThen(
      through(Effect.acquireRelease(Effect.sync(users.come), () => Effect.sync(users.go))),
      Effect.suspend(() => Effect.map(take(current.pool), wrapped))
    )
  const borrower: SqlConnection.Borrower = (use) =>
    through(
      Effect.uninterruptibleMask((restore) => {
        brief.come()
        return Effect.ensuring(
          restore(current.pool.use((connection) => use(wrapped(connection)))),
          Effect.sync(brief.go)
        )
      })
    )

  const client = yield* SqlClient.make({
    acquirer: counted(brief, ({ get }) => get),
    transactionAcquirer: counted(brief, ({ reserve }) => reserve),
    borrower,
    compiler: PgClient.makeCompiler(),
    driver: "pg",
    prepareTransactionControls: true,
    commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "postgresql"]]
  }).pipe(Effect.provide(Reactivity.layer))
  Object.assign(client, { reserve: counted(reserving, ({ reserve }) => reserve) })

  const pausable: Pausable = {
    pause: Effect.gen(function* () {
      yield* gate.close
      yield* brief.none
      yield* Effect.timeoutOption(reserving.none, reservedMillis)
      const [{ scope }, open] = [current, [...sockets]]
      current = yield* Effect.orDie(make)
      // The pool waits for those that are held; they are cut when it has had time to close the others properly.
      const closing = yield* Effect.forkDetach(Scope.close(scope, Exit.void))
      yield* Effect.timeoutOption(Fiber.await(closing), reservedMillis)
      for (const socket of open) socket.destroy()
    }),
    resume: Effect.asVoid(gate.open)
  }
  return { client, pausable }
})
