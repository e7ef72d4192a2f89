import { Clock, Effect, Exit, Scope } from "effect"
import { type SqlClient, type SqlConnection } from "effect/sql"
import { type Unavailable } from "../domain/errors.ts"
import { onOwnTables } from "./OwnTables.ts"
import { monotonicMillis } from "./access/RateLimits.ts"

/** How long to wait and how often to try, in ms, and the error after that time. */
export interface Patience<E> {
  readonly patience: number
  readonly pause: number
  readonly busy: E
}

/**
 * Repeats an attempt until it succeeds with a value. What a failed attempt acquired is released before the pause; what
 * the successful one acquired, when the scope closes.
 */
export const acquirePatiently = <A, E, R, Busy>(
  attempt: Effect.Effect<A | undefined, E, R>,
  { busy, patience, pause }: Patience<Busy>
): Effect.Effect<A, E | Busy, R | Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scope.Scope
    const deadline = monotonicMillis(yield* Clock.Clock) + patience
    for (;;) {
      const own = yield* Scope.fork(scope)
      const acquired = yield* Scope.provide(attempt, own)
      if (acquired !== undefined) return acquired
      yield* Scope.close(own, Exit.void)
      if (monotonicMillis(yield* Clock.Clock) >= deadline) return yield* Effect.fail(busy)
      yield* Effect.sleep(pause)
    }
  })

/** Statements on one connection of the service's own tables. */
export const queryOn =
  (connection: SqlConnection.Connection) =>
  (text: string, params: ReadonlyArray<unknown> = []) =>
    onOwnTables(connection.executeUnprepared(text, params, undefined)) as Effect.Effect<
      ReadonlyArray<Readonly<Record<string, unknown>>>,
      Unavailable
    >

interface LockOptions {
  readonly shared?: boolean
}

/**
 * A connection that holds all of these advisory locks until the scope closes; undefined when another session holds one.
 * The locks belong to the session, not to a transaction, which would stay open meanwhile. PostgreSQL releases them when
 * the process is killed.
 */
export const tryAdvisoryLocks = (
  sql: SqlClient.SqlClient,
  locks: ReadonlyArray<string>,
  { shared = false }: LockOptions = {}
) =>
  Effect.gen(function* () {
    const connection = yield* onOwnTables(sql.reserve)
    const query = queryOn(connection)
    yield* Effect.addFinalizer(() => Effect.ignore(query("select pg_advisory_unlock_all()")))
    const tries = locks.map((lock) => `pg_try_advisory_lock${shared ? "_shared" : ""}(${lock})`)
    const [row] = yield* Effect.uninterruptible(query(`select ${tries.join(" and ")} as acquired`))
    return row?.["acquired"] === true ? connection : undefined
  })

/** Like `tryAdvisoryLocks`, but retries. No connection is used between two attempts. */
export const acquireAdvisoryLocks = <Busy>(
  sql: SqlClient.SqlClient,
  locks: ReadonlyArray<string>,
  options: Patience<Busy> & LockOptions
) => acquirePatiently(tryAdvisoryLocks(sql, locks, options), options)

/** Runs an effect while this session holds the locks. */
export const withAdvisoryLocks =
  <Busy>(sql: SqlClient.SqlClient, locks: ReadonlyArray<string>, options: Patience<Busy>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.scoped(Effect.andThen(acquireAdvisoryLocks(sql, locks, options), effect))
