import { Effect } from "effect"
import { logPublication, slotSql } from "../../domain/changes/LogSql.ts"
import { StartError } from "../process/StartError.ts"
import { type Ask } from "./Servers.ts"

/** What of the reading of changes (SVC_CHANGES=wal) refers to the old cluster: its log, and the numbers of its tables. */
export interface ChangeReading {
  readonly tables: ReadonlyArray<Readonly<Record<string, unknown>>>
}

const stateSql = `
  select ${slotSql} as slot, exists (select from pg_replication_slots where slot_name = ${slotSql} and slot_type = 'logical'
           and database = current_database() and wal_status <> 'lost') as there,
         to_regclass('svc.change_log') is not null and to_regclass('svc.change_tables') is not null as reads`

/** Transactions in the log (B: 66), with how many changes each has (I, U, D, T), compared with what was passed on. */
const pendingSql = `
  with message as (
    select row_number() over () as n, get_byte(data, 0) as kind, data
    from pg_logical_slot_peek_binary_changes(${slotSql}, null, null, 'proto_version', '1', 'publication_names', '${logPublication}')
  ), labelled as (
    select kind, max(case kind when 66 then '0/0'::pg_lsn + ('x' || encode(substr(data, 2, 8), 'hex'))::bit(64)::bigint end)
      over (order by n) as commit from message
  ), change as (
    select commit, count(*) filter (where kind in (73, 85, 68, 84)) as changes from labelled group by commit
  )
  select count(*)::int as pending from change left join svc.change_log l on l.slot = ${slotSql}
  where changes > 0 and (l.lsn is null or commit > l.lsn or (commit = l.lsn and changes > l.done))`

/**
 * Reads it in the old main database; undefined if changes are not read from the log. Fails if changes are in the log alone,
 * which ends with the old cluster.
 */
export const readChangeReading = Effect.fnUntraced(function* (old: Ask) {
  const [state] = yield* old(stateSql)
  if (state?.["there"] !== true || state["reads"] !== true) return undefined
  const [found] = yield* old(pendingSql)
  if (found?.["pending"] !== 0) {
    return yield* new StartError({
      message: `${String(found?.["pending"])} transactions have changes that were not passed on to webhooks and the realtime feed yet (SVC_CHANGES=wal): start the previous release, wait until GET /api/changes has no lag, stop it, and run this again. To go on without them, drop the slot there: select pg_drop_replication_slot('${String(state["slot"])}')`
    })
  }
  return {
    tables: yield* old(
      `select table_oid::regclass::text as name, identity::text as identity, identity_index from svc.change_tables
       where exists (select from pg_class c where c.oid = table_oid)`
    )
  } satisfies ChangeReading
})

/** Goes on with it in the new main database, in which nothing has changed since the old one was dumped. */
export const continueChangeReading = Effect.fnUntraced(function* (made: Ask, { tables }: ChangeReading) {
  yield* made("delete from svc.change_tables")
  for (const { identity, identity_index, name } of tables) {
    yield* made(
      `insert into svc.change_tables (table_oid, identity, identity_index) values ($1::regclass::oid, $2::text::"char", $3)`,
      [name, identity, identity_index]
    )
  }
  yield* made("delete from svc.change_log")
  yield* made(`select pg_create_logical_replication_slot(${slotSql}, 'pgoutput')`)
})
