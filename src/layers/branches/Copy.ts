import { Clock, Effect, Exit, Fiber } from "effect"
import { type Forbidden, type Unavailable } from "../../domain/errors.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { type CopyPlan } from "./Room.ts"
import { copyFailure, sessionsSql } from "./Source.ts"
import { type MainSessions } from "../postgres/MainSessions.ts"
import { outageOrDie, type DirectConnection } from "../postgres/DirectConnection.ts"

export interface CopyOptions {
  readonly sessions: MainSessions["Service"]
  /** Whether sessions of others are ended. */
  readonly endSessions: boolean
  /** Longest a copy may take, in ms. */
  readonly timeout: number
  readonly plan: CopyPlan
}

/** Heard by every replica: let go of the main database, and come back. */
export const pauseChannel = "svc_pause"

/** PostgreSQL itself waits 5 s for the sessions of the source to end before it gives up. */
const drainMillis = 4_500
/** How long statements of others, and idle sessions of replicas that do not react, are left alone, in ms. */
const graceMillis = 1_000

const lockedSql = `select from pg_locks
  where locktype = 'object' and classid = 'pg_database'::regclass and pid = $1 and granted and mode = 'ShareLock'
    and objid = (select oid from pg_database where datname = current_database())`

/**
 * Copies the database that `main` and `watch` are connected to. PostgreSQL locks the source at once: whoever connects
 * from then on waits, also in other processes, until it is copied. Nothing has to be undone, whatever breaks: the lock
 * goes with the statement.
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
  yield* Effect.ignore(main.query(`set client_connection_check_interval = '1s'`)) // noticed when we are killed; Linux
  yield* Effect.ignore(main.query("checkpoint")) // less of it is left for when others wait
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
      // The file system can't, whatever the system says.
      ({ code }) => clones && /^(58|XX)/.test(code),
      () => Effect.andThen(main.query("reset file_copy_method"), create)
    )
  })
  // Whoever asked may leave, but not while everybody else is kept waiting for an end.
  yield* Effect.uninterruptible(options.sessions.without(made)).pipe(
    Effect.catchTag("QueryFailed", (error): Effect.Effect<never, Forbidden | Unavailable> => {
      const failure = copyFailure(error)
      return failure === undefined ? outageOrDie(error) : Effect.fail(failure)
    }),
    Effect.ensuring(Effect.ignore(main.query("reset statement_timeout")))
  )
})

/** Gets everybody out of the source, once it is locked; whoever can't be got out makes the copy fail by itself. */
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
  // A right to end others' sessions is missing, or the connection broke: the copy says what comes of it.
  (drained) => Effect.ignore(drained)
)
