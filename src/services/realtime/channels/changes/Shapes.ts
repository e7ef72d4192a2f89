import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type Actor } from "../../../ports/Db.ts"

/** The publication whose tables clients can follow. */
export const publication = "supabase_realtime"

export interface Column {
  readonly name: string
  /** The type's name in pg_type, by which clients convert values. */
  readonly type: string
  /** The type as SQL, without length or precision; of a domain, the type below it. */
  readonly sql: string
  /** The letter of pg_type.typcategory. */
  readonly category: string
  readonly key: boolean
  readonly anon: boolean
  readonly authenticated: boolean
}

/** A table of the publication, and what clients may read of it. */
export interface Shape {
  readonly schema: string
  readonly table: string
  /** The table as SQL. */
  readonly sql: string
  /** Whether policies decide who may read which rows. */
  readonly secured: boolean
  /** REPLICA IDENTITY FULL: old rows are published whole. */
  readonly full: boolean
  readonly operations: { readonly INSERT: boolean; readonly UPDATE: boolean; readonly DELETE: boolean }
  /** The publication's condition for rows, as SQL. */
  readonly condition: string | null
  /** The columns that are published. */
  readonly columns: ReadonlyArray<Column>
}

/** Whether a role may read a column. */
export const mayRead = (role: Actor["role"], column: Column) => role === "service_role" || column[role]

const may = (role: string) =>
  `(has_schema_privilege('${role}', n.oid, 'usage') and has_column_privilege('${role}', c.oid, a.attnum, 'select'))`

const shapeSql = `
  select n.nspname::text as schema, c.relname::text as table, c.oid::regclass::text as sql, c.relrowsecurity as secured,
    c.relreplident = 'f' as full, p.rowfilter as condition,
    json_build_object('INSERT', pub.pubinsert, 'UPDATE', pub.pubupdate, 'DELETE', pub.pubdelete) as operations,
    (select coalesce(json_agg(json_build_object(
        'name', a.attname, 'type', t.typname, 'sql', format_type(b.oid, -1), 'category', b.typcategory,
        'key', coalesce(a.attnum = any (i.indkey), false), 'anon', ${may("anon")}, 'authenticated', ${may("authenticated")}
      ) order by a.attnum), '[]')
      from pg_attribute a join pg_type t on t.oid = a.atttypid
        join pg_type b on b.oid = case when t.typtype = 'd' then t.typbasetype else t.oid end
        left join pg_index i on i.indrelid = c.oid and i.indisprimary
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        and (p.attnames is null or a.attname = any (p.attnames))) as columns
  from pg_publication_tables p join pg_publication pub on pub.pubname = p.pubname
    join pg_namespace n on n.nspname = p.schemaname
    join pg_class c on c.relnamespace = n.oid and c.relname = p.tablename
  where p.pubname = '${publication}' and n.nspname = $1::text and c.relname = $2::text`

/**
 * The tables of the publication. They are read for each batch of changes, and never kept: policies and grants that are
 * older than a change must not decide who receives it.
 */
export const makeShapes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /** Undefined if the publication does not have the table. */
    find: (schema: string, table: string) =>
      Effect.map(sql.unsafe<Shape>(shapeSql, [schema, table]), ([shape]): Shape | undefined => shape)
  }
})
