import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { ChangeStatus } from "../../domain/changes/ChangeStatus.ts"
import { slotSql } from "../../domain/changes/LogSql.ts"
import { type Unavailable } from "../../domain/errors.ts"
import { onOwnTables } from "../OwnTables.ts"
import { changeLogLimit, changeSource } from "./Settings.ts"
import { makeSlotHealth, noSlotHealth, type SlotHealth } from "./SlotHealth.ts"

/** The state of the reading of the write-ahead log, which every process looks at, whichever of them reads. */
export class ChangeHealth extends Context.Service<ChangeHealth, SlotHealth>()("svc/services/ChangeHealth") {
  static readonly layer = Layer.effect(
    ChangeHealth,
    Effect.gen(function* () {
      if ((yield* changeSource) === "trigger") return noSlotHealth
      return yield* makeSlotHealth({
        slot: slotSql,
        metrics: "svc_changes",
        most: (yield* changeLogLimit) * 1024 * 1024,
        unread:
          "No process reads changes from the write-ahead log: webhooks and the realtime feed wait, and PostgreSQL keeps its log. The log of the replicas has the reason"
      })
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
