import { Clock, Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { type ChangeHealthState, healthOf, type Slot } from "../../domain/changes/ChangeStatus.ts"
import { type Sample, sampleOf } from "../../domain/metrics/Sample.ts"

/** How often PostgreSQL is asked, and for how long an answer counts, in ms. */
const [pause, validMillis] = ["5 seconds", 20_000] as const
/** The looks without a reader after which that is reported: another process takes over in between. */
const patience = 4
/** Positions that are remembered: an hour of them. */
const maxSeen = 720

/** Of a slot, whose name is an SQL expression. What a logical one has passed on is confirmed, of a physical one dropped. */
const stateSql = (
  slot: string,
  active: string
) => `select pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::float8 as written,
    pg_wal_lsn_diff(coalesce(s.confirmed_flush_lsn, s.restart_lsn), '0/0')::float8 as passed,
    s.slot_name is not null as there, ${active} as active,
    greatest(0, coalesce(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), coalesce(s.confirmed_flush_lsn, s.restart_lsn)), 0))::float8 as lag,
    coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn), 0)::float8 as retained,
    s.safe_wal_size::float8 as remaining, coalesce(s.wal_status, '') as wal_status,
    nullif(pg_size_bytes(current_setting('max_slot_wal_keep_size')), -1)::float8 as limit
  from (select) x left join pg_replication_slots s
    on s.slot_name = ${slot} and coalesce(s.database, current_database()) = current_database()`

interface Look extends Slot {
  readonly there: boolean
  readonly written: number
  readonly passed: number | null
}

/** The state at the last check. */
interface Seen {
  readonly at: number
  readonly slot: Slot | undefined
  readonly lagSeconds: number
  readonly state: ChangeHealthState
}

const statuses = ["reserved", "extended", "unreserved", "lost"] as const

export interface SlotHealth {
  /** Undefined if no slot is used, and while the database does not answer. */
  readonly seen: Effect.Effect<Seen | undefined>
  readonly samples: Effect.Effect<ReadonlyArray<Sample>>
}

export const noSlotHealth: SlotHealth = { seen: Effect.succeed(undefined), samples: Effect.succeed([]) }

interface WatchedSlot {
  /** An SQL expression. */
  readonly slot: string
  /** An SQL expression: whether a process reads from it. */
  readonly active?: string
  /** Begins the names of its metrics. */
  readonly metrics: "svc_changes" | "svc_pitr"
  /** Bytes of log that may be kept if PostgreSQL has no limit. */
  readonly most: number
  /** Logged when no process reads from it. */
  readonly unread: string
}

/** Watches how far a replication slot is behind, and whether its log may be dropped, until the scope closes. */
export const makeSlotHealth = Effect.fnUntraced(function* ({
  active = "coalesce(s.active, false)",
  metrics,
  most,
  slot,
  unread
}: WatchedSlot) {
  const sql = yield* SqlClient.SqlClient
  const text = stateSql(slot, active)
  /** Earlier ends of the log with their times, until they are passed on; oldest first. */
  let ends: ReadonlyArray<{ readonly at: number; readonly written: number }> = []
  let last: Seen | undefined
  let without = 0

  const look = Effect.gen(function* () {
    const [found] = yield* sql.unsafe<Look>(text)
    if (found === undefined) return
    const at = yield* Clock.currentTimeMillis
    const passed = found.passed ?? 0
    ends = [...ends.filter(({ written }) => written > passed), { at, written: found.written }].slice(-maxSeen)
    const lagSeconds = (at - (ends[0]?.at ?? at)) / 1000
    const its = found.there ? found : undefined
    const state = healthOf(its, lagSeconds, most)
    without = state === "unread" || state === "lost" ? without + 1 : 0
    if (without === patience) yield* Effect.logWarning(unread)
    last = { at, slot: its, lagSeconds, state }
  }).pipe(Effect.timeoutOption("3 seconds"), Effect.ignoreCause)
  yield* look.pipe(Effect.repeat(Schedule.spaced(pause)), Effect.forkScoped)

  const seen = Effect.map(Clock.currentTimeMillis, (now) =>
    last === undefined || now - last.at > validMillis ? undefined : last
  )
  const samples = Effect.map(seen, (now): ReadonlyArray<Sample> => {
    if (now === undefined) return []
    const { lagSeconds, slot } = now
    const reading = sampleOf(`${metrics}_read`, {}, slot?.active === true ? 1 : 0)
    if (slot === undefined) return [reading]
    return [
      reading,
      sampleOf(`${metrics}_lag_bytes`, {}, slot.lag),
      sampleOf(`${metrics}_lag_seconds`, {}, lagSeconds),
      sampleOf(`${metrics}_retained_bytes`, {}, slot.retained),
      ...(slot.limit === null ? [] : [sampleOf(`${metrics}_limit_bytes`, {}, slot.limit)]),
      ...(slot.remaining === null ? [] : [sampleOf(`${metrics}_remaining_bytes`, {}, Math.max(0, slot.remaining))]),
      ...statuses.map((status) => sampleOf(`${metrics}_slot`, { status }, slot.wal_status === status ? 1 : 0))
    ]
  })
  return { seen, samples } satisfies SlotHealth
})
