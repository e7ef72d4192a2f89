import { Effect } from "effect"
import { type Client } from "pg"
import { createPublicationSql, recordGapSql, slotSql } from "../../../domain/changes/LogSql.ts"
import { ChangeLogLost } from "../../../services/ports/ChangeLog.ts"
import { one, rowsOf } from "./Session.ts"

/**
 * Makes the slot if it is missing, or was invalidated by PostgreSQL. Changes are missing then, which is recorded before, so
 * that it is not forgotten if this process ends in between.
 */
export const slotOf = Effect.fnUntraced(function* (client: Client, writer: Client) {
  yield* one(client, createPublicationSql)
  const state = yield* one(
    client,
    `select ${slotSql} as name, s.slot_name is not null as there, s.wal_status = 'lost' as lost,
       coalesce(to_jsonb(s) ->> 'invalidation_reason', 'wal_removed') as reason,
       s.slot_type || ' ' || coalesce(s.plugin, '') <> 'logical pgoutput' or s.database <> current_database() as foreign,
       s.slot_type || coalesce(', ' || s.plugin, '') || coalesce(', of database ' || s.database, '') as kind
     from (select) x left join pg_replication_slots s on s.slot_name = ${slotSql}`
  )
  const name = String(state["name"])
  if (state["foreign"] === true) {
    return yield* new ChangeLogLost({
      message: `the replication slot ${name} belongs to something else (${String(state["kind"])}). Drop it if it is not needed: select pg_drop_replication_slot('${name}')`
    })
  }
  const isLost = state["lost"] === true
  if (state["there"] === true && !isLost) return name
  const reason = !isLost
    ? `the slot ${name} has disappeared, as after a restore or a failover, or because it was dropped`
    : state["reason"] === "wal_removed"
      ? `PostgreSQL has dropped the log that the slot ${name} needed, because it exceeded max_slot_wal_keep_size`
      : `PostgreSQL has invalidated the slot ${name} (${String(state["reason"])})`
  const recorded = yield* rowsOf(writer, { text: recordGapSql, values: [reason] })
  if (recorded.length > 0) {
    yield* Effect.logWarning(`Creating a replication slot, which waits for running transactions to end: ${reason}`)
  }
  if (isLost) yield* one(client, `select pg_drop_replication_slot('${name}')`)
  yield* one(client, `select pg_create_logical_replication_slot('${name}', 'pgoutput')`)
  return name
})
