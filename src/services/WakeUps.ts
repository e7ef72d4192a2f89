import { Effect, Queue, type Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { isOutage } from "./OwnTables.ts"

/** How long one wait for writers to end may take. */
const lockTimeout = "500ms"
const retry = "1 second"
/** How often a worker looks whether it still has the lock, and whether another one still has it. */
const verifyEvery = "5 seconds"

/** Whether a session has the lock for itself: another worker, as writers share it. */
const heldByWorkerSql = (
  lock: string
) => `select exists (select from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock'
  and granted and objsubid = 1 and (classid::int8 << 32 | objid::int8) = ${lock}
  and database = (select oid from pg_database where datname = current_database()))`

/**
 * Makes a trigger function send notifications, which it only does while a session holds its lock or waits for it:
 * NOTIFY serializes commits, so writers should do it only when a worker sleeps. A writer that does not notify holds the
 * lock in shared mode until it has committed. So once this process has the lock, all those writes are visible, and
 * `ready` is called to look for them.
 *
 * Writers only *try* the lock, so only workers ever wait for it. While another worker has it, writers notify anyway, and
 * this one asks again every five seconds: until then a worker that has woken up finds what it is not notified of. While a long transaction of a writer shares it, this one waits: other writers
 * notify from the moment the wait begins.
 */
export const makeWakeUps = Effect.fnUntraced(function* (lock: string, ready: () => void) {
  const sql = yield* SqlClient.SqlClient
  const changes = yield* Queue.sliding<void>(1)
  const state = { wanted: false, certain: false }

  const hold: Effect.Effect<void, SqlError.SqlError, Scope.Scope> = Effect.gen(function* () {
    const connection = yield* sql.reserve
    const run = (text: string) => connection.executeValues(text, [])
    yield* run(`set lock_timeout = '${lockTimeout}'`)
    yield* Effect.addFinalizer(() => Effect.ignore(run("reset lock_timeout")))
    yield* Effect.addFinalizer(() => Effect.sync(() => (state.certain = false)))
    const waited = run(`select pg_advisory_lock(${lock})`).pipe(
      Effect.as(true),
      Effect.catchIf(
        (error) => !isOutage(error),
        () => Effect.succeed(false)
      )
    )
    while (state.wanted) {
      const [[acquired] = []] = yield* run(`select pg_try_advisory_lock(${lock})`)
      if (acquired !== true) {
        const [[byWorker] = []] = yield* run(heldByWorkerSql(lock))
        if (byWorker === true) {
          state.certain = true
          yield* Effect.timeoutOption(Queue.take(changes), verifyEvery)
          state.certain = false
        }
        if (byWorker === true || !(yield* waited)) continue
      }
      yield* Effect.addFinalizer(() => Effect.ignore(run(`select pg_advisory_unlock(${lock})`)))
      state.certain = true
      ready()
      while (state.wanted) {
        yield* Effect.timeoutOption(Queue.take(changes), verifyEvery)
        if (state.wanted) yield* run("select 1") // the lock is lost with the connection
      }
    }
  })

  yield* Queue.take(changes).pipe(
    Effect.andThen(
      Effect.suspend(() => (state.wanted ? Effect.scoped(hold) : Effect.void)).pipe(
        Effect.catchCause(() => Effect.delay(Queue.offer(changes, undefined), retry))
      )
    ),
    Effect.forever,
    Effect.forkScoped
  )

  const set = (wanted: boolean) => () => {
    if (state.wanted === wanted) return
    state.wanted = wanted
    Queue.offerUnsafe(changes, undefined)
  }
  return {
    on: set(true),
    off: set(false),
    /** Whether writers notify: this process has the lock, or another worker had it when it was last looked at. */
    certain: () => state.certain,
    /** Looks at once whether the lock is still held. */
    verify: () => void Queue.offerUnsafe(changes, undefined)
  }
})
