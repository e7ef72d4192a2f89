import { Clock, Effect, Exit, Fiber } from "effect"
import { type Forbidden, type Unavailable } from "../../domain/errors.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { type CopyPlan } from "./FreeSpace.ts"
import { copyFailure, sessionsSql } from "./Source.ts"
import { type MainSessions } from "../postgres/MainSessions.ts"
import { outageOrDie, type DirectConnection } from "../postgres/client/DirectConnection.ts"

export interface CopyOptions {
  readonly sessions: MainSessions["Service"]
  /** Whether sessions of other applications are terminated. */
  readonly endSessions: boolean
  /** Time limit of the copy, in ms. */
  readonly timeout: number
  readonly plan: CopyPlan
}

/** Every replica listens here, and releases its connections to the main database when notified. */
export const pauseChannel = "svc_pause"

/** PostgreSQL itself waits 5 s for the sessions of the source to end before it gives up. */
const drainMillis = 4_500
/** How long statements of other applications, and idle sessions of replicas that don't react, may go on, in ms. */
const graceMillis = 1_000

const lockedSql = `select from pg_locks
  where locktype = 'object' and classid = 'pg_database'::regclass and pid = $1 and granted and mode = 'ShareLock'
    and objid = (select oid from pg_database where datname = current_database())`

/**
 * Copies the database that `main` and `watch` are connected to. PostgreSQL locks the source at once: new connections, also
 * those of other processes, wait until it is copied. Nothing has to be undone after a failure: the lock ends with the
 * statement.
 */
export const copyDatabase = Effect.fnUntraced(function* (
  main: DirectConnection,
  watch: DirectConnection,
  closeWatch: Effect.Effect<void>,
  database: string,
  options: CopyOptions
) {
  const [source] = yield* Effect.catch(main.query("select current_database()::text as name"), outageOrDie)
  const { byFiles, clone } = options.plan
  yield* Effect.ignore(main.query(`set client_connection_check_interval = '1s'`)) // ends the statement soon after this process is killed; Linux
  yield* Effect.ignore(main.query("checkpoint")) // shortens the time for which clients wait
  yield* Effect.catch(main.query(`set statement_timeout = ${options.timeout}`), outageOrDie)
  const create = main.query(
    `create database ${quoteName(database)} template ${quoteName(String(source?.["name"]))} strategy ${byFiles ? "file_copy" : "wal_log"}`
  )
  const made = Effect.gen(function* () {
    const clones = clone && Exit.isSuccess(yield* Effect.exit(main.query("set file_copy_method = 'clone'")))
    const copying = yield* Effect.forkChild(create)
    yield* Effect.ensuring(drain(main, watch, options), closeWatch)
    return yield* Effect.catchIf(
      Fiber.join(copying),
      // The file system can't clone, although the server supports it.
      ({ code }) => clones && /^(58|XX)/.test(code),
      () => Effect.andThen(main.query("reset file_copy_method"), create)
    )
  })
  // The caller may leave, but not while all other clients wait for the copy to end.
  yield* Effect.uninterruptible(options.sessions.without(made)).pipe(
    Effect.catchTag("QueryFailed", (error): Effect.Effect<never, Forbidden | Unavailable> => {
      const failure = copyFailure(error)
      return failure === undefined ? outageOrDie(error) : Effect.fail(failure)
    }),
    Effect.ensuring(Effect.ignore(main.query("reset statement_timeout")))
  )
})

/** Ends the sessions in the source, once it is locked. The copy fails by itself when some remain. */
const drain = Effect.fnUntraced(
  function* (main: DirectConnection, watch: DirectConnection, { endSessions }: CopyOptions) {
    const since = yield* Clock.currentTimeMillis
    const elapsed = Effect.map(Clock.currentTimeMillis, (now) => now - since)
    while ((yield* watch.query(lockedSql, [main.pid])).length === 0) {
      if ((yield* elapsed) > 1_000) return
      yield* Effect.sleep("5 millis")
    }
    yield* watch.query("select pg_notify($1, '')", [pauseChannel])
    for (;;) {
      const [row] = yield* watch.query(
        `select count(*)::int as n, count(*) filter (
           where case when ours then $2 and state = 'idle' else $1 and ($2 or state = 'idle') end
             and pg_terminate_backend(pid))::int as ended
         from (${sessionsSql}) s`,
        [endSessions, (yield* elapsed) > graceMillis]
      )
      if (row?.["n"] === 0 || (yield* elapsed) > drainMillis) return
      yield* Effect.sleep("20 millis")
    }
  },
  // The copy reports the failure if the right to end a session is missing, or the connection is broken.
  (draining) => Effect.ignore(draining)
)
