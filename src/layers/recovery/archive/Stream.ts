import { Effect, type Scope } from "effect"
import { type Client } from "pg"
import {
  coverage,
  historyName,
  logFolder,
  logPosition,
  parsePiece,
  pieceName,
  segmentStart
} from "../../../domain/recovery/Log.ts"
import { lsnText } from "../../../domain/sql/Lsn.ts"
import { type Unavailable } from "../../../domain/errors.ts"
import { type ChangeLogLost } from "../../../services/ports/ChangeLog.ts"
import { archivedSql, archiveLeaseSql, archiveSlotSql } from "../../../services/recovery/Settings.ts"
import { lost, one } from "../../postgres/log/Session.ts"
import { type Archive } from "../store/Archive.ts"
import { holdWriter } from "../store/Writer.ts"
import { ArchiveTrouble } from "../store/Store.ts"
import { type AskCluster } from "./AskCluster.ts"
import { LogReceiver, type ReceivedHead } from "./Receiver.ts"

const signMillis = 3000

const writerFile = "log/writer"

/** How often what has arrived of a segment is archived. */
const flushMillis = 500

/** Looks at the archive after which it records that nothing was written since. */
const looksAtRest = 10

/**
 * The time, then the end of the log: everything that was committed until then is before that position. Log of other
 * kinds may wait there until the next commit; what was committed asynchronously is written after three rounds of the
 * WAL writer (PostgreSQL documentation, 28.4).
 */
const endOfLogSql = `(extract(epoch from clock_timestamp()) * 1000)::int8::text as now,
    pg_current_wal_insert_lsn()::text as inserted, pg_current_wal_flush_lsn()::text as flushed,
    3000 * extract(epoch from current_setting('wal_writer_delay')::interval)::float8 as writing`

/** Where the log ends, by the server's clock in ms since 1970. */
interface EndOfLog {
  readonly now: number
  readonly inserted: bigint
  readonly flushed: bigint
  /** After this many ms, everything committed is in `flushed`. */
  readonly writing: number
}

export const endOfLog = (row: Readonly<Record<string, unknown>>): EndOfLog => ({
  now: Number(row["now"]),
  inserted: withoutHeader(logPosition(String(row["inserted"])) ?? 0n),
  flushed: logPosition(String(row["flushed"])) ?? 0n,
  writing: Number(row["writing"]) + 100
})

/** The timeline shows whether the statement ran on the server that the log comes from. */
const markSql = `select ${endOfLogSql},
    ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int4 as timeline`

/** A time and a position of the log that has everything committed until then. */
interface Mark {
  readonly at: number
  position: bigint
}

/** An insert position behind a page's header is the end of the page before, where the log that is sent ends. */
const pageBytes = 8192n
const maxHeader = 48n
const withoutHeader = (position: bigint) =>
  position % pageBytes < maxHeader ? position - (position % pageBytes) : position

interface Slot {
  readonly name: string
  /** The log from there on is kept. */
  readonly from: bigint
}

/** The slot, whether a process archives, and where the log ends. */
export const archiveSlotStateSql = `select ${endOfLogSql}, ${archiveSlotSql} as name, ${archiveLeaseSql} as lease, s.slot_name is not null as there, s.wal_status = 'lost' as lost,
    ${archivedSql} as active, s.restart_lsn::text as position,
    pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::float8 as retained,
    nullif(pg_size_bytes(current_setting('max_slot_wal_keep_size')), -1)::float8 as limit
  from (select) x left join pg_replication_slots s on s.slot_name = ${archiveSlotSql}`

/** Undefined: another process archives the log. */
const slotOf = Effect.fnUntraced(function* (client: Client, ask: AskCluster) {
  const state = yield* ask(archiveSlotStateSql)
  if (state["active"] === true) return undefined
  const leased = yield* one(client, `CREATE_REPLICATION_SLOT ${String(state["lease"])} TEMPORARY PHYSICAL`).pipe(
    Effect.as(true),
    Effect.catchIf(
      ({ message }) => message.includes("already exists"),
      () => Effect.succeed(false)
    )
  )
  if (!leased) return undefined
  const name = String(state["name"])
  const position = logPosition(String(state["position"]))
  if (state["there"] === true && state["lost"] !== true && position !== undefined) {
    return { name, from: position } satisfies Slot
  }
  if (state["there"] === true) yield* ask(`select true as done from pg_drop_replication_slot('${name}')`)
  yield* ask(`select slot_name::text from pg_create_physical_replication_slot('${name}', true)`)
  const made = yield* ask(archiveSlotStateSql)
  return { name, from: logPosition(String(made["position"])) ?? 0n } satisfies Slot
})

/** The archived bytes of the segment that contains the position, from its start. */
const headOf = Effect.fnUntraced(function* (archive: Archive, timeline: number, position: bigint, segmentSize: bigint) {
  const start = segmentStart(position, segmentSize)
  if (start === position) return undefined
  const names = yield* archive.list(logFolder(timeline))
  const pieces = names.flatMap((name) => parsePiece(name) ?? []).filter((piece) => piece.start >= start)
  const bytes = Buffer.alloc(Number(position - start))
  for (const piece of coverage(pieces, start)) {
    const content = yield* archive.get(piece.name)
    content.copy(bytes, Number(piece.start - start))
  }
  return { bytes, pieces: pieces.map(({ name }) => name) } satisfies ReceivedHead
})

/** Where the archive of a timeline ends; undefined without any of it. */
const endOf = Effect.fnUntraced(function* (archive: Archive, timeline: number) {
  const names = yield* archive.list(logFolder(timeline))
  const ends = names.flatMap((name) => parsePiece(name)?.end ?? [])
  return ends.length === 0 ? undefined : ends.reduce((a, b) => (a > b ? a : b))
})

export interface ArchiveProgress {
  /** Everything committed until then (the server's clock, ms since 1970) is archived. */
  readonly until: number
  readonly position: bigint
  readonly timeline: number
}

/**
 * Archives the log as it is written, until the connection or the archive fails; ends at once while another process does.
 * PostgreSQL keeps log until its archiving is confirmed. Log may be missing before the first part: a
 * base backup that ends after it is needed then.
 *
 * @param client a session for the cluster
 * @param archived runs after each flush
 */
export const archiveLog = Effect.fnUntraced(function* (
  client: Client,
  ask: AskCluster,
  archive: Archive,
  archived: (progress: ArchiveProgress) => void
): Effect.fn.Return<void, ArchiveTrouble | ChangeLogLost | Unavailable, Scope.Scope> {
  const segmentSize = BigInt(archive.info.segment_size)
  const identity = yield* one(client, "IDENTIFY_SYSTEM")
  const timeline = Number(identity["timeline"])
  const flushed = logPosition(String(identity["xlogpos"])) ?? 0n
  const slot = yield* slotOf(client, ask)
  if (slot === undefined) return

  if (timeline > 1) {
    const name = historyName(timeline)
    const there = yield* archive.list(name)
    if (there.length === 0) {
      const history = yield* one(client, `TIMELINE_HISTORY ${timeline}`)
      yield* archive.put(name, Buffer.from(String(history["content"])))
    }
  }
  const end = yield* endOf(archive, timeline)
  if (end !== undefined && end > flushed) {
    return yield* new ArchiveTrouble({
      reason: `The archive in ${archive.place} has log up to ${lsnText(Number(end))}, and the server only up to ${lsnText(Number(flushed))}: the cluster was put back to an earlier state. Set another SVC_PITR_DIR or SVC_PITR_BUCKET`
    })
  }
  const resumes = end !== undefined && end >= slot.from
  const from = resumes ? end : segmentStart(slot.from, segmentSize)
  const head = yield* headOf(archive, timeline, from, segmentSize)
  const receiver = new LogReceiver(client, from, segmentSize, head)
  // PostgreSQL ends a session that is silent, such as while a part is stored slowly.
  const signs = setInterval(() => receiver.report(), signMillis)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      clearInterval(signs)
      receiver.end("stopped")
    })
  )

  // The lease decides among the replicas of an installation, so that only its holder asks for another writer.
  const writer = yield* holdWriter(archive, writerFile)

  const marks: Array<Mark> = []
  let until = 0
  /** The latest time in the archive, and the position that has everything committed until then. */
  let recorded = { until: 0, position: from }
  /** The piece without content that records it, if there is one. */
  let atRest: string | undefined
  /** When it last streamed: PostgreSQL ends a session that is idle for long. */
  let streamed = 0
  const archivePart = Effect.fnUntraced(function* (now: boolean) {
    const part = receiver.next(now)
    if (part === undefined) return false
    let covered = recorded.position
    for (let mark = marks[0]; mark !== undefined && mark.position <= part.end; mark = marks[0]) {
      until = mark.at
      covered = mark.position
      marks.shift()
    }
    const name = pieceName({ timeline, start: part.start, end: part.end, until })
    yield* archive.put(name, part.content)
    receiver.archived(part, name)
    recorded = { until, position: covered }
    archived({ until, position: part.end, timeline })
    const replaced = [...part.replaces, ...(atRest === undefined ? [] : [atRest])].filter((other) => other !== name)
    atRest = undefined
    if (replaced.length > 0) yield* archive.remove(replaced)
    return true
  })

  /**
   * Nothing was written since: the time alone has moved on. Commits that the last piece has, but not the time of, are
   * recorded at once: a recovery on another machine knows only the times that are in the archive.
   */
  const archiveRest = Effect.gen(function* () {
    while (marks[0] !== undefined && marks[0].position <= receiver.archivedUpTo) until = marks.shift()?.at ?? until
    const position = receiver.archivedUpTo
    if (until === recorded.until) return
    archived({ until, position, timeline })
    if (recorded.position === position && until - recorded.until < looksAtRest * archive.lookEvery) return
    const name = pieceName({ timeline, start: position, end: position, until })
    yield* archive.put(name, Buffer.alloc(0))
    if (atRest !== undefined) yield* archive.remove([atRest])
    recorded = { until, position }
    atRest = name
  })

  const run = Effect.gen(function* () {
    for (;;) {
      const begun = performance.now()
      const mark = yield* ask(markSql)
      if (Number(mark["timeline"]) !== timeline) return yield* lost("another server has become the primary")
      const { flushed, inserted, now, writing } = endOfLog(mark)
      for (const earlier of marks) {
        if (now - earlier.at >= writing && flushed < earlier.position) earlier.position = flushed
      }
      marks.push({ at: now, position: inserted })
      if (receiver.position < inserted || begun - streamed > signMillis) {
        receiver.start(slot.name, timeline)
        streamed = begun
      }
      yield* Effect.promise(() => receiver.wait(flushMillis, inserted))
      while (yield* archivePart(false)) {
        // Whole segments, while they come faster than they are archived.
      }
      // Once: under load more of the segment has always arrived meanwhile, and the marks would never move on.
      yield* archivePart(true)
      yield* archiveRest
      const stopped = receiver.position >= inserted
      if (stopped) yield* Effect.promise(() => receiver.stop())
      for (;;) {
        if (receiver.ended !== undefined) return yield* lost(receiver.ended)
        const left = flushMillis - (performance.now() - begun)
        if (left <= 0) break
        if (stopped) yield* Effect.sleep(left)
        else {
          yield* Effect.promise(() => receiver.wait(left))
          yield* archivePart(false)
        }
      }
    }
  })
  return yield* Effect.raceFirst(run, writer.lost)
})
