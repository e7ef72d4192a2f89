import { quoteName } from "../sql/Names.ts"

/** Statements about the triggers behind webhooks. The function they call is created by a migration. */

/** A table that has webhooks or their triggers. */
export interface WebhookTable {
  readonly oid: number
  readonly schema: string
  readonly name: string
  /** Needs a row-level trigger: partitions and children are also written to through their parent. */
  readonly by_row: boolean
  /** There are virtual generated columns, which only the row-level trigger handles. */
  readonly virtual: boolean
  /** There are webhooks for the table, active or not, and its changes do not come from the write-ahead log. */
  readonly wanted: boolean
  readonly triggers: ReadonlyArray<string>
}

const wanted = `exists (select from svc.webhooks w
    where w.table_schema = n.nspname and w.table_name = c.relname and w.deleted_at is null)
  and not exists (select from svc.change_tables l where l.table_oid = c.oid)`

const virtual = `exists (select from pg_attribute a
    where a.attrelid = c.oid and a.attgenerated = 'v' and not a.attisdropped)`

const ours = `t.tgfoid = 'svc.enqueue_webhooks()'::regprocedure and t.tgparentid = 0`

const webhookTables = `select c.oid::int8::float8 as oid, n.nspname::text as schema, c.relname::text as name,
    c.relkind = 'p' or exists (select from pg_inherits i where i.inhrelid = c.oid) as by_row,
    ${virtual} as virtual,
    ${wanted} as wanted,
    array(select t.tgname::text from pg_trigger t where t.tgrelid = c.oid and ${ours}) as triggers
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and c.relpersistence <> 't' and n.nspname not in ('svc', 'svc_ddl')`

/** One table, by its oid ($1). */
export const webhookTableSql = `${webhookTables} and c.oid = $1::text::oid`

export const allWebhookTablesSql = `${webhookTables}
  and (${wanted} or exists (select from pg_trigger t where t.tgrelid = c.oid and ${ours}))`

/**
 * Serializes changes of a table's webhooks and triggers ($1: the table's oid). The upper half of the key is an arbitrary
 * constant.
 */
export const lockTableSql = `select pg_advisory_xact_lock((7298::int8 << 32) | $1::text::oid::int8)`

const perStatement: Readonly<Record<string, string>> = {
  svc_wh_insert: "after insert on TABLE referencing new table as new_rows",
  svc_wh_update: "after update on TABLE referencing old table as old_rows new table as new_rows",
  svc_wh_delete: "after delete on TABLE referencing old table as old_rows"
}

/** The DDL that gives a table the triggers it needs; empty when it has them. */
export const triggerChanges = ({
  by_row,
  name,
  oid,
  schema,
  triggers,
  virtual,
  wanted
}: WebhookTable): ReadonlyArray<string> => {
  const table = `${quoteName(schema)}.${quoteName(name)}`
  // The name contains the oid, because a partition may have its own trigger in addition to that of its parent.
  const row = `svc_wh_row_${oid}${virtual ? "_virtual" : ""}`
  const should = wanted ? (by_row || virtual ? [row] : Object.keys(perStatement)) : []
  const create = (trigger: string) =>
    trigger === row
      ? `create or replace trigger ${trigger} after insert or update or delete on ${table}
           for each row execute function svc.enqueue_webhooks('${oid}'${virtual ? ", 'virtual'" : ""})`
      : `create or replace trigger ${trigger} ${perStatement[trigger]?.replace("TABLE", () => table)}
           for each statement execute function svc.enqueue_webhooks()`
  return [
    ...triggers
      .filter((trigger) => !should.includes(trigger))
      .map((trigger) => `drop trigger ${quoteName(trigger)} on ${table}`),
    ...should.filter((trigger) => !triggers.includes(trigger)).map(create)
  ]
}
