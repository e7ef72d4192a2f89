import { Effect, Queue, type Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { wakeUpLock } from "../../domain/sql/AdvisoryLocks.ts"
import { isOutage } from "../OwnTables.ts"

/** How long one try to get the lock takes at most. */
const lockTimeout = "500ms"
const retry = "1 second"

/**
 * Asks the trigger function to notify us, which it only does while somebody has this lock or waits for it: NOTIFY makes
 * commits wait for each other, so nobody should do it who need not. A writer that does not notify shares the lock until
 * it has committed: once we have it, all such writes can be seen, and `ready` is called to look for them.
 *
 * Writers only ever try for the lock, so nobody waits but we. When another process has it, or a long transaction keeps us
 * from it, writers notify as well, from when we began to wait.
 */
export const makeWakeUps = Effect.fnUntraced(function* (ready: () => void) {
  const sql = yield* SqlClient.SqlClient
  const changes = yield* Queue.sliding<void>(1)
  const state = { wanted: false }

  const hold: Effect.Effect<void, SqlError.SqlError, Scope.Scope> = Effect.gen(function* () {
    const connection = yield* sql.reserve
    const run = (text: string) => connection.executeValues(text, [])
    yield* run(`set lock_timeout = '${lockTimeout}'`)
    yield* Effect.addFinalizer(() => Effect.ignore(run("reset lock_timeout")))
    while (state.wanted) {
      const got = yield* run(`select pg_advisory_lock(${wakeUpLock})`).pipe(
        Effect.as(true),
        Effect.catchIf(
          (error) => !isOutage(error),
          () => Effect.succeed(false)
        )
      )
      if (!got) continue
      yield* Effect.addFinalizer(() => Effect.ignore(run(`select pg_advisory_unlock(${wakeUpLock})`)))
      ready()
      while (state.wanted) {
        yield* Effect.timeoutOption(Queue.take(changes), retry)
        yield* run("select 1") // the lock is gone with the connection
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
  return { on: set(true), off: set(false) }
})
