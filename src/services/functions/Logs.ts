import { Clock, Context, Effect, Layer, Option, Schema, Stream } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { type Unavailable } from "../../domain/errors.ts"
import { FunctionLogLine } from "../../domain/functions/Function.ts"
import { functionLogsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { logFailure, onOwnTables } from "../OwnTables.ts"
import { type PrintedLine } from "../ports/functions/FunctionEngine.ts"
import { Listener } from "../ports/Listener.ts"
import { Shutdown } from "../Shutdown.ts"

/** Lines that wait for the database; more are dropped. */
const maxWaiting = 2_000
const writeEvery = "500 millis"
/** Lines of a function, and days, that are kept. */
const [keptLines, keptDays] = [10_000, 7]
const pruneEveryMillis = 60_000
/** The channel that names the functions whose lines were written. */
const channel = "svc_function_logs"
/** Lines that a follower reads at a time, and how long it waits before it says that it is still there. */
const [readAtOnce, beat] = [1_000, "5 seconds"] as const

interface Entry extends PrintedLine {
  readonly name: string
  readonly version: number
  readonly at: number
}

/** The lock comes before the ids: who has read one id misses none below it, whichever replica wrote them. */
const insertSql = `with locked as materialized (select pg_advisory_xact_lock(${functionLogsLock})),
    added as (insert into svc.function_logs (name, version, at, level, request_id, text)
      select r.name, r.version, to_timestamp(r.at / 1000.0), r.level, r."requestId", r.text
      from locked, json_to_recordset($1::text::json) as r(name text, version integer, at float8, level text, "requestId" text, text text)
      returning name)
  select pg_notify('${channel}', name) from (select distinct name from added) n`

const pruneSql = `delete from svc.function_logs l where name = any($1::text[]) and (at < now() - interval '${keptDays} days'
  or id <= (select k.id from svc.function_logs k where k.name = l.name order by k.id desc offset ${keptLines} limit 1))`

/** Who waits for the lines of a function. */
interface Follower {
  /** Whether lines were written since it has last begun to read. */
  woken: boolean
  resume: () => void
}

export interface LogQuery {
  readonly after?: number | undefined
  readonly before?: number | undefined
  readonly limit?: number | undefined
}

/** What functions print, of all replicas. */
export class FunctionLogs extends Context.Service<
  FunctionLogs,
  {
    /** Takes a line, which is written soon. */
    readonly add: (name: string, version: number, line: PrintedLine) => void
    /** With `after`, the lines that follow it, oldest first; else the newest, newest first. */
    readonly list: (name: string, query: LogQuery) => Effect.Effect<ReadonlyArray<FunctionLogLine>, Unavailable>
    /**
     * The newest lines, or those after an id, oldest first, and then each that is printed, until the service shuts down.
     * An empty list: there was none for some time.
     */
    readonly follow: (
      name: string,
      query: Pick<LogQuery, "after" | "limit">
    ) => Stream.Stream<ReadonlyArray<FunctionLogLine>, Unavailable>
  }
>()("svc/services/FunctionLogs") {
  static readonly layer = Layer.effect(
    FunctionLogs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const context = yield* Effect.context()
      const shutdown = yield* Shutdown
      let waiting: Array<Entry> = []
      let writing = false
      let prunedAt = 0

      const write = Effect.gen(function* () {
        const lines = waiting
        waiting = []
        yield* onOwnTables(sql.unsafe(insertSql, [JSON.stringify(lines)]))
        const now = clock.currentTimeMillisUnsafe()
        if (now - prunedAt < pruneEveryMillis) return
        prunedAt = now
        yield* onOwnTables(sql.unsafe(pruneSql, [Array.from(new Set(lines.map(({ name }) => name)))]))
      }).pipe(Effect.catchCause(logFailure("Failed to write the logs of functions")))

      const flush = Effect.gen(function* () {
        yield* Effect.sleep(writeEvery)
        while (waiting.length > 0) yield* write
        writing = false
      })
      yield* Effect.addFinalizer(() => Effect.suspend(() => (waiting.length > 0 ? write : Effect.void)))
      const scope = yield* Effect.scope

      const add = (name: string, version: number, line: PrintedLine) => {
        if (waiting.length >= maxWaiting) return
        waiting.push({
          ...line,
          text: line.text.toWellFormed().replaceAll("\0", "\ufffd"),
          name,
          version,
          at: clock.currentTimeMillisUnsafe()
        })
        if (writing) return
        writing = true
        Effect.runForkWith(context)(Effect.forkIn(flush, scope))
      }

      const list = Effect.fn("FunctionLogs.list")((name: string, { after, before, limit = 100 }: LogQuery) =>
        onOwnTables(
          SqlSchema.findAll({
            Request: Schema.Void,
            Result: FunctionLogLine,
            execute: () =>
              sql.unsafe(
                `select id::float8 as id, version, ${isoSql("at")} as at, level, request_id, text from svc.function_logs
                 where name = $1 and ($2::int8 is null or id > $2::int8) and ($3::int8 is null or id < $3::int8)
                 order by id ${after === undefined ? "desc" : "asc"} limit $4::int4`,
                [name, after === undefined ? null : String(after), before === undefined ? null : String(before), limit]
              )
          })()
        )
      )

      /** By the name of their function. */
      const followers = new Map<string, Set<Follower>>()
      const wake = (all: Iterable<Follower>) => {
        for (const follower of all) {
          follower.woken = true
          follower.resume()
        }
      }
      const { messages } = yield* (yield* Listener).listen(channel)
      yield* Stream.runForEach(messages, (message) =>
        Effect.sync(() => {
          if (message._tag === "Notification") wake(followers.get(message.payload) ?? [])
          // What was sent meanwhile is missed.
          else if (message._tag === "Connected") for (const all of followers.values()) wake(all)
        })
      ).pipe(Effect.forkScoped)

      const follower = (name: string) =>
        Effect.acquireRelease(
          Effect.sync((): Follower => {
            const made = { woken: true, resume: () => undefined }
            const all = followers.get(name) ?? new Set()
            followers.set(name, all.add(made))
            return made
          }),
          (made) =>
            Effect.sync(() => {
              const all = followers.get(name)
              all?.delete(made)
              if (all?.size === 0) followers.delete(name)
            })
        )
      const woken = (one: Follower) =>
        Effect.callback<void>((resume) => {
          if (one.woken) return resume(Effect.void)
          one.resume = () => resume(Effect.void)
          return Effect.sync(() => void (one.resume = () => undefined))
        })

      const follow = (name: string, { after, limit }: Pick<LogQuery, "after" | "limit">) =>
        Stream.unwrap(
          Effect.map(follower(name), (one) =>
            Stream.paginate(after, (last) =>
              Effect.gen(function* () {
                if (last !== undefined) yield* Effect.timeoutOption(woken(one), beat)
                const read = one.woken
                one.woken = false
                const query = last === undefined ? { limit } : { after: last, limit: readAtOnce }
                const found = read || last === undefined ? yield* list(name, query) : []
                if (found.length === readAtOnce) one.woken = true
                const lines = last === undefined ? found.toReversed() : found
                const next = lines.at(-1)?.id ?? last ?? 0
                return [[lines], shutdown.begun() ? Option.none() : Option.some<number | undefined>(next)] as const
              })
            )
          )
        )
      return FunctionLogs.of({ add, list, follow })
    })
  )
}
