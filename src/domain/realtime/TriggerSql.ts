import { isoSql } from "../sql/IsoTimestamp.ts"
import { quoteLiteral, quoteName } from "../sql/Names.ts"

/** Statements about the triggers behind subscriptions; the function they call is made by a migration. */

/** Whether a table, given by the SQL of its oid, has virtual generated columns: its trigger has to know. */
export const hasVirtualSql = (oid: string) =>
  `exists (select from pg_attribute where attrelid = ${oid} and attgenerated = 'v')`

/** Each subscription `s` with the table of its name `here`, the one it was made for `there`, and its trigger `t`. */
const subscriptions = `svc.realtime_subscriptions s
  left join pg_namespace n on n.nspname = s.table_schema
  left join pg_class here on here.relnamespace = n.oid and here.relname = s.table_name and here.relkind in ('r', 'p')
  left join pg_class there on there.oid = s.table_oid and there.relkind in ('r', 'p')
  left join pg_namespace tn on tn.oid = there.relnamespace
  left join pg_trigger t on t.tgrelid = coalesce(here.oid, there.oid) and t.tgname = s.channel
    and t.tgfoid = 'svc.notify_row_change'::regproc
    and t.tgargs = convert_to(s.channel, getdatabaseencoding()) || '\\000'::bytea
      || convert_to(t.tgrelid::text, 'UTF8') || '\\000'::bytea
      || case when ${hasVirtualSql("t.tgrelid")} then 'virtual\\000'::bytea else ''::bytea end`

/** Records as domain/RealtimeSubscription.ts has them. */
export const listSql = (where = "true") => `select s.id, s.table_schema as schema, s.table_name as table, s.channel,
    case when here.oid is null and there.oid is null then 'table_missing'
         when here.oid is null then 'table_renamed'
         when t.oid is null then 'trigger_missing'
         when t.tgenabled in ('D', 'R') then 'trigger_disabled'
         else 'active' end as status,
    case when here.oid is null then quote_ident(tn.nspname) || '.' || quote_ident(there.relname) end as renamed_to,
    ${isoSql("s.created_at")} as created_at
  from ${subscriptions} where ${where} order by s.id`

/** Triggers of ours, `stray`, that no subscription asks for. */
export const straySql = (where = "true") => `select n.nspname::text as schema, c.relname::text as table,
    stray.tgname::text as trigger, stray.oid::text as oid, stray.tgrelid::text as "tableOid"
  from pg_trigger stray join pg_class c on c.oid = stray.tgrelid join pg_namespace n on n.oid = c.relnamespace
  where stray.tgfoid = 'svc.notify_row_change'::regproc and stray.tgparentid = 0 and ${where}
    and not exists (select from ${subscriptions} where t.oid = stray.oid)`

/** Arguments as svc.notify_row_change takes them. */
export const createTriggerSql = (schema: string, table: string, channel: string, oid: number, virtual: boolean) => {
  const given = [channel, String(oid), ...(virtual ? ["virtual"] : [])].map(quoteLiteral).join(", ")
  return `create or replace trigger ${quoteName(channel)}
    after insert or update or delete on ${quoteName(schema)}.${quoteName(table)}
    for each row execute function svc.notify_row_change(${given})`
}

export const dropTriggerSql = (schema: string, table: string, trigger: string) =>
  `drop trigger if exists ${quoteName(trigger)} on ${quoteName(schema)}.${quoteName(table)}`
