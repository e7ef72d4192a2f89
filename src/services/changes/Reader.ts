import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { isUnknownType, type LogType } from "../../domain/changes/LogJson.ts"
import { announceGapsSql, logPublication, slotSql, typesSql } from "../../domain/changes/LogSql.ts"
import { type LogMessage, parsePosition } from "../../domain/changes/LogMessage.ts"
import { aLoopTurn } from "../LoopTurn.ts"
import { isOutage, logFailure } from "../OwnTables.ts"
import { CurrentMeters } from "../metrics/Meters.ts"
import { ChangeLog, ChangeLogLost, type ChangeStream, logPaused } from "../ports/ChangeLog.ts"
import { ChangeBatch, LogReader } from "./Batch.ts"
import { changeLogLimit, changeSource } from "./Settings.ts"

/** How often a process that does not read the log looks whether another one does. */
const pause = "1 second"
/** ms that rows are written as JSON before the event loop serves others. */
const turnMillis = 10

interface Gap {
  readonly reason: string
  /** The time at which changes were last passed on; null if never. */
  readonly after: string | null
  readonly tables: ReadonlyArray<string>
  readonly webhooks: ReadonlyArray<string>
}

const keptSql = `select pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::float8 / 1048576 as kept,
    safe_wal_size::float8 / 1048576 as room, wal_status::text as status,
    nullif(pg_size_bytes(current_setting('max_slot_wal_keep_size')), -1)::float8 / 1048576 as most
  from pg_replication_slots where slot_name = ${slotSql}`

interface Kept {
  readonly kept: number | null
  /** MiB that PostgreSQL may add before it drops what the slot needs, and MiB that it keeps at most; null: no limit. */
  readonly room: number | null
  readonly most: number | null
  readonly status: string | null
}

/** Drops the slot after SVC_CHANGES was changed: a slot that is not read would keep the log for ever. */
const endLog = (sql: SqlClient.SqlClient) =>
  sql
    .unsafe(
      `select count(pg_drop_replication_slot(slot_name)) as dropped from pg_replication_slots
       where slot_name = ${slotSql} and not active and not exists (select from svc.change_tables)`
    )
    .pipe(
      Effect.andThen(
        sql.unsafe<{ readonly there: boolean }>(
          `select exists (select from pg_replication_slots where slot_name = ${slotSql}) as there`
        )
      ),
      Effect.flatMap(([row]) => (row?.there === true ? Effect.fail("there") : Effect.void)),
      Effect.retry(Schedule.spaced("2 seconds")),
      Effect.andThen(sql.unsafe(`drop publication if exists ${logPublication}`)),
      Effect.andThen(sql.unsafe("delete from svc.change_log")),
      Effect.catchCause(logFailure("Failed to end the reading of the write-ahead log"))
    )

/**
 * Reads the write-ahead log, in one process at a time, and passes each change on: to the webhooks' outbox, and to the
 * realtime feed of every process. The same statement stores the changes and the position in the log, so that after a
 * crash of this process or of PostgreSQL no change is missing, and none is there twice.
 */
export const layerChangeReader = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    if ((yield* changeSource) === "trigger") return void (yield* Effect.forkScoped(endLog(sql)))
    const log = yield* ChangeLog
    const limit = yield* changeLogLimit
    const types = new Map<number, LogType>()

    const learn = Effect.fnUntraced(function* (messages: ReadonlyArray<LogMessage>) {
      let asked = messages.flatMap((message) =>
        message._tag === "Relation" ? message.relation.columns.map(({ type }) => type) : []
      )
      for (;;) {
        asked = asked.filter((oid) => oid !== 0 && isUnknownType(types, oid))
        if (asked.length === 0) return
        const found = yield* sql.unsafe<LogType>(typesSql, [[...new Set(asked)].map(String)])
        // A type that was dropped since then is written as text.
        for (const oid of asked) types.set(oid, { oid, base: 0, element: 0, delimiter: "," })
        for (const type of found) types.set(type.oid, type)
        asked = found.flatMap(({ base, element }) => [base, element])
      }
    })

    const handled = Effect.map(
      sql.unsafe<{ readonly lsn: string; readonly done: string }>(
        `select lsn::text as lsn, done::text as done from svc.change_log where slot = ${slotSql}`
      ),
      ([row]) => (row === undefined ? undefined : { lsn: parsePosition(row.lsn), done: Number(row.done) })
    )

    const gaps = (yield* CurrentMeters).counter("svc_changes_gaps_total", {})
    const begin = Effect.gen(function* () {
      for (const { after, reason, tables, webhooks } of yield* sql.unsafe<Gap>(announceGapsSql)) {
        gaps()
        const since = after === null ? "" : ` The last ones were passed on at ${after}.`
        const of =
          tables.length === 0
            ? ""
            : ` Tables: ${tables.slice(0, 20).join(", ")}${tables.length > 20 ? " and others" : ""}.`
        const hooks =
          webhooks.length === 0
            ? ""
            : ` Webhooks that may lack deliveries: ${webhooks.slice(0, 20).join(", ")}${webhooks.length > 20 ? " and others" : ""}.`
        yield* Effect.logError(
          `Changes are missing from webhooks and the realtime feed: ${reason}.${since}${of}${hooks} GET /api/changes lists such gaps`
        )
      }
      // Tables can be published now.
      yield* sql.unsafe("select pg_notify('svc_change_tables', '')")
      return new LogReader(yield* handled)
    })

    const step = Effect.fnUntraced(function* (stream: ChangeStream, reader: LogReader) {
      const messages = yield* stream.take
      yield* learn(messages)
      const batch = new ChangeBatch()
      let turn = performance.now()
      for (const message of messages) {
        reader.read(message, batch, types)
        if (performance.now() - turn < turnMillis) continue
        yield* aLoopTurn
        turn = performance.now()
      }
      if (!batch.isEmpty) yield* stream.pass(batch.params)
      if (batch.end !== undefined) yield* stream.confirm(batch.end)
    })

    let [warned, limited] = [false, true]
    const watch = Effect.gen(function* () {
      const [slot] = yield* sql.unsafe<Kept>(keptSql)
      if (slot === undefined) return
      const most = slot.most ?? limit
      const kept = Math.ceil(slot.kept ?? 0)
      const late = kept > most / 2 || (slot.room ?? most) < most / 2 || slot.status === "unreserved"
      if (late && !warned) {
        const then =
          slot.room === null
            ? ", without a limit of its own (max_slot_wal_keep_size)"
            : `, and drops it after ${Math.max(0, Math.floor(slot.room))} MiB more: then changes are missing`
        yield* Effect.logWarning(
          `PostgreSQL keeps ${kept} MiB of its log until changes are passed on${then}. Look for a database that is too slow, and for long transactions`
        )
      }
      if (slot.most === null && limited) {
        yield* Effect.logWarning(
          `If changes are not read, PostgreSQL keeps its log until the disk is full. To limit it, as an administrator: alter system set max_slot_wal_keep_size = '${limit}MB'; select pg_reload_conf()`
        )
      }
      limited = slot.most !== null
      warned = late
    }).pipe(Effect.ignore, Effect.repeat(Schedule.spaced("5 seconds")))

    let reported: string | undefined
    const read = Effect.gen(function* () {
      // Asked first, because PostgreSQL has few places for sessions of this kind.
      const [other] = yield* sql.unsafe(`select from pg_replication_slots where slot_name = ${slotSql} and active
        and database = current_database()`)
      if (other !== undefined) return
      const stream = yield* log.open
      if (stream === undefined) return
      const reader = yield* begin
      reported = undefined
      yield* Effect.logInfo("Reading changes from the write-ahead log")
      yield* Effect.raceFirst(Effect.forever(step(stream, reader)), watch)
    }).pipe(
      Effect.scoped,
      Effect.catchTag("SqlError", (error) =>
        isOutage(error) ? new ChangeLogLost({ message: "the database is unreachable" }) : Effect.die(error)
      ),
      Effect.catchTag("ChangeLogLost", ({ message }) => {
        if (reported === message) return Effect.void
        reported = message
        if (message === logPaused) return Effect.void // it resumes by itself
        return Effect.logWarning(`Stopped reading changes from the write-ahead log, will retry: ${message}`)
      }),
      Effect.catchCause(logFailure("Failed to pass changes of the write-ahead log on, will retry"))
    )
    yield* read.pipe(Effect.repeat(Schedule.spaced(pause)), Effect.forkScoped)
  })
)
