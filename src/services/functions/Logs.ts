import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { type Unavailable } from "../../domain/errors.ts"
import { FunctionLogLine } from "../../domain/functions/Function.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { logFailure, onOwnTables } from "../OwnTables.ts"
import { type PrintedLine } from "../ports/functions/FunctionEngine.ts"

/** Lines that wait for the database; more are dropped. */
const maxWaiting = 2_000
const writeEvery = "500 millis"
/** Lines of a function, and days, that are kept. */
const [keptLines, keptDays] = [10_000, 7]
const pruneEveryMillis = 60_000

interface Entry extends PrintedLine {
  readonly name: string
  readonly version: number
  readonly at: number
}

const insertSql = `insert into svc.function_logs (name, version, at, level, request_id, text)
  select name, version, to_timestamp(at / 1000.0), level, "requestId", text
  from json_to_recordset($1::text::json) as r(name text, version integer, at float8, level text, "requestId" text, text text)`

const pruneSql = `delete from svc.function_logs l where name = any($1::text[]) and (at < now() - interval '${keptDays} days'
  or id <= (select k.id from svc.function_logs k where k.name = l.name order by k.id desc offset ${keptLines} limit 1))`

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
  }
>()("svc/services/FunctionLogs") {
  static readonly layer = Layer.effect(
    FunctionLogs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const context = yield* Effect.context()
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
      return FunctionLogs.of({ add, list })
    })
  )
}
