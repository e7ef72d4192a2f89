import { Schema } from "effect"

const Column = Schema.Struct({
  name: Schema.String,
  /** The type without its length, as SQL. */
  type: Schema.String,
  /** The name of the built-in type, or of that below a domain; `enum`; "" for others. */
  base: Schema.String,
  deterministic: Schema.Boolean,
  /** Whether the database sorts its texts by their bytes. */
  by_bytes: Schema.Boolean,
  generated: Schema.Boolean,
  identity: Schema.Boolean,
  /** The sequence behind it. */
  sequence: Schema.NullOr(Schema.String)
})
export type TableColumn = typeof Column.Type

const Table = Schema.Struct({
  oid: Schema.String,
  schema: Schema.String,
  table: Schema.String,
  kind: Schema.String,
  rows: Schema.NullOr(Schema.Int),
  utf8: Schema.Boolean,
  columns: Schema.Array(Column),
  keys: Schema.Array(
    Schema.Struct({ name: Schema.String, columns: Schema.Array(Schema.String), primary: Schema.Boolean })
  )
})
/** A table or view of one database, with what a comparison needs to know of it. */
export type TableShape = typeof Table.Type

export const decodeTable = Schema.decodeUnknownSync(Schema.fromJsonString(Table))

/** Tables that are listed. */
export const maxListed = 2_000

/**
 * One JSON text per table and view. $1, $2: of this schema and name only; null: all. Names of types are complete, because
 * the comparison's search_path is empty. Columns of a key can't be null, so that it has one row.
 */
export const tablesSql = `with place as (
  select to_jsonb(d) as d, pg_encoding_to_char(d.encoding) = 'UTF8' as utf8 from pg_database d
  where d.datname = current_database()
)
select json_build_object(
  'oid', c.oid::text, 'schema', n.nspname, 'table', c.relname, 'kind', c.relkind::text,
  'rows', case when c.relkind = 'r' and c.reltuples >= 0 then c.reltuples::int8 end,
  'utf8', place.utf8,
  'columns', coalesce((
    select json_agg(json_build_object(
      'name', a.attname, 'type', format_type(a.atttypid, -1),
      'base', case when b.typtype = 'e' then 'enum' when b.typnamespace = 'pg_catalog'::regnamespace then b.typname::text else '' end,
      'deterministic', coalesce(l.collisdeterministic, true),
      'by_bytes', coalesce(case l.collprovider
        when 'b' then true
        when 'd' then coalesce(place.d->>'datlocprovider', 'c') = 'b'
          or coalesce(place.d->>'datlocprovider', 'c') = 'c' and place.d->>'datcollate' in ('C', 'POSIX')
        when 'c' then l.collcollate in ('C', 'POSIX') end, false),
      'generated', a.attgenerated <> '', 'identity', a.attidentity <> '',
      'sequence', case when b.typname in ('int2', 'int4', 'int8')
        then pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname) end
    ) order by a.attnum)
    from pg_attribute a join pg_type t on t.oid = a.atttypid
      join pg_type b on b.oid = case when t.typtype = 'd' then t.typbasetype else t.oid end
      left join pg_collation l on l.oid = a.attcollation
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), '[]'),
  'keys', coalesce((
    select json_agg(json_build_object('name', i.relname, 'primary', x.indisprimary, 'columns', (
        select json_agg(a.attname order by k.at) from unnest(x.indkey::int2[]) with ordinality k (attnum, at)
        join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum where k.at <= x.indnkeyatts))
      order by x.indisprimary desc, i.relname)
    from pg_index x join pg_class i on i.oid = x.indexrelid
    where x.indrelid = c.oid and x.indisunique and x.indisvalid and x.indpred is null and x.indexprs is null
      and not exists (select from unnest(x.indkey::int2[]) with ordinality k (attnum, at)
        join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
        where k.at <= x.indnkeyatts and not a.attnotnull)), '[]')
)::text
from pg_class c join pg_namespace n on n.oid = c.relnamespace, place
where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't' and n.nspname !~ '^pg_'
  and n.nspname not in ('information_schema', 'svc', 'svc_ddl')
  and ($1::text is null and c.relkind in ('r', 'p') and not c.relispartition or n.nspname = $1 and c.relname = $2)
  and not exists (select from pg_depend e
    where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
order by n.nspname, c.relname limit ${maxListed}`

/** The foreign keys between tables of these oids, as pairs of child and parent. */
export const referencesSql = `select distinct conrelid::text, confrelid::text from pg_constraint
  where contype = 'f' and conrelid <> confrelid and conrelid = any ($1::oid[]) and confrelid = any ($1::oid[])`
