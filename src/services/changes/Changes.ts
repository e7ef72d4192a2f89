import { Clock, Context, Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { type ChangeHealthState, ChangeStatus, type Slot, healthOf } from "../../domain/changes/ChangeStatus.ts"
import { slotSql } from "../../domain/changes/LogSql.ts"
import { type Unavailable } from "../../domain/errors.ts"
import { type Sample, sampleOf } from "../../domain/metrics/Sample.ts"
import { onOwnTables } from "../OwnTables.ts"
import { changeLogLimit, changeSource } from "./Settings.ts"

/** How often PostgreSQL is asked, and for how long an answer counts, in ms. */
const [pause, validMillis] = ["5 seconds", 20_000] as const
/** The looks without a reader after which that is reported: another process takes over in between. */
const patience = 4
/** Positions that are remembered: an hour of them. */
const maxSeen = 720

const slotStateSql = `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as written,
    pg_wal_lsn_diff(s.confirmed_flush_lsn, '0/0')::float8 as passed, s.slot_name is not null as there,
    coalesce(s.active, false) as active,
    coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn), 0)::float8 as lag,
    coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn), 0)::float8 as retained,
    s.safe_wal_size::float8 as remaining, coalesce(s.wal_status, '') as wal_status,
    nullif(pg_size_bytes(current_setting('max_slot_wal_keep_size')), -1)::float8 as limit
  from (select) x left join pg_replication_slots s on s.slot_name = ${slotSql} and s.database = current_database()`

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

/** The state of the reading of the write-ahead log, which every process looks at, whichever of them reads. */
export class ChangeHealth extends Context.Service<
  ChangeHealth,
  {
    /** Undefined with triggers, and while the database does not answer. */
    readonly seen: Effect.Effect<Seen | undefined>
    readonly samples: Effect.Effect<ReadonlyArray<Sample>>
  }
>()("svc/services/ChangeHealth") {
  static readonly layer = Layer.effect(
    ChangeHealth,
    Effect.gen(function* () {
      const none = ChangeHealth.of({ seen: Effect.succeed(undefined), samples: Effect.succeed([]) })
      if ((yield* changeSource) === "trigger") return none
      const sql = yield* SqlClient.SqlClient
      const most = (yield* changeLogLimit) * 1024 * 1024
      /** Earlier ends of the log with their times, until they are passed on; oldest first. */
      let ends: ReadonlyArray<{ readonly at: number; readonly written: number }> = []
      let last: Seen | undefined
      let without = 0

      const look = Effect.gen(function* () {
        const [found] = yield* sql.unsafe<Look>(slotStateSql)
        if (found === undefined) return
        const at = yield* Clock.currentTimeMillis
        const passed = found.passed ?? 0
        ends = [...ends.filter(({ written }) => written > passed), { at, written: found.written }].slice(-maxSeen)
        const lagSeconds = (at - (ends[0]?.at ?? at)) / 1000
        const slot = found.there ? found : undefined
        const state = healthOf(slot, lagSeconds, most)
        without = state === "unread" || state === "lost" ? without + 1 : 0
        if (without === patience) {
          yield* Effect.logWarning(
            "No process reads changes from the write-ahead log: webhooks and the realtime feed wait, and PostgreSQL keeps its log. The log of the replicas has the reason"
          )
        }
        last = { at, slot, lagSeconds, state }
      }).pipe(Effect.timeoutOption("3 seconds"), Effect.ignoreCause)
      yield* look.pipe(Effect.repeat(Schedule.spaced(pause)), Effect.forkScoped)

      const seen = Effect.map(Clock.currentTimeMillis, (now) =>
        last === undefined || now - last.at > validMillis ? undefined : last
      )
      const samples = Effect.map(seen, (now): ReadonlyArray<Sample> => {
        if (now === undefined) return []
        const { lagSeconds, slot } = now
        const reading = sampleOf("svc_changes_read", {}, slot?.active === true ? 1 : 0)
        if (slot === undefined) return [reading]
        return [
          reading,
          sampleOf("svc_changes_lag_bytes", {}, slot.lag),
          sampleOf("svc_changes_lag_seconds", {}, lagSeconds),
          sampleOf("svc_changes_retained_bytes", {}, slot.retained),
          ...(slot.limit === null ? [] : [sampleOf("svc_changes_limit_bytes", {}, slot.limit)]),
          ...(slot.remaining === null
            ? []
            : [sampleOf("svc_changes_remaining_bytes", {}, Math.max(0, slot.remaining))]),
          ...statuses.map((status) => sampleOf("svc_changes_slot", { status }, slot.wal_status === status ? 1 : 0))
        ]
      })
      return ChangeHealth.of({ seen, samples })
    })
  )
}

const iso = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`

const statusSql = `select s.slot_name::text as slot, coalesce(s.active, false) as active,
    pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn)::float8 as lag_bytes,
    pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::float8 as retained_bytes,
    s.safe_wal_size::float8 as remaining_bytes, s.wal_status,
    array(select quote_ident(n.nspname) || '.' || quote_ident(c.relname) from svc.change_tables t
      join pg_class c on c.oid = t.table_oid join pg_namespace n on n.oid = c.relnamespace order by 1) as tables,
    array(select json_build_object('reason', reason, 'after_lsn', after_lsn, 'after_at', to_char(after_at, ${iso}),
      'until_lsn', until_lsn, 'until_at', to_char(until_at, ${iso}), 'tables', tables)
      from (select * from svc.change_gaps order by id desc limit 20) g order by g.id desc) as gaps
  from (select) x left join pg_replication_slots s on s.slot_name = ${slotSql}`

/** The source of row changes for realtime and webhooks. */
export class Changes extends Context.Service<Changes, { readonly status: Effect.Effect<ChangeStatus, Unavailable> }>()(
  "svc/services/Changes"
) {
  static readonly layer = Layer.effect(
    Changes,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const source = yield* changeSource
      const health = yield* ChangeHealth
      const find = SqlSchema.findOne({
        Request: Schema.Void,
        Result: ChangeStatus,
        execute: () =>
          Effect.flatMap(health.seen, (seen) =>
            sql.unsafe(
              `select $1::text as source, $2::float8 as lag_seconds, $3::text as health, x.* from (${statusSql}) x`,
              [source, seen?.slot === undefined ? null : seen.lagSeconds, seen?.state ?? null]
            )
          )
      })
      return Changes.of({ status: onOwnTables(Effect.catchTag(find(undefined), "NoSuchElementError", Effect.die)) })
    })
  )
}
