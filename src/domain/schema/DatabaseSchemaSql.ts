import { ofUsers } from "../insights/FindingSql.ts"
import { openViews } from "../insights/AccessChecks.ts"

/** The JSON list of objects of each table: their `name`, and their `definition` as far as it can be read. */
const defined = (table: string, name: string, definition: string, from: string) =>
  `(select x.relation, pg_catalog.json_agg(pg_catalog.json_build_object('name', x.name, 'definition', x.definition) order by x.name) as list
      from (select ${table} as relation, ${name}::text as name, case when not ${table} = any (array(select l.oid from locked l)) then ${definition} end as definition
        from ${from} and ${table} in (select oid from tables)) x group by x.relation)`

const grantsOf = (role: string) => `(select coalesce(pg_catalog.json_agg(p), '[]')
        from pg_catalog.unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p
        where exists (select from pg_roles where rolname = '${role}') and pg_catalog.has_table_privilege('${role}', c.oid, p))`

const estimatedRows = `'estimated_rows', case when c.reltuples >= 0 and c.relkind <> 'v' then c.reltuples::bigint end`

/**
 * Describes the schemas in `$1` (a text array), or with `$2` all that are not PostgreSQL's or the service's, as one JSON text, a
 * `DatabaseSchema`.
 */
export const databaseSchemaSql = `
with exposed as (
  select oid, nspname::text from pg_namespace where nspname = any ($1::text[])
),
shown as (
  select n.oid, n.nspname::text from pg_namespace n where n.nspname = any ($1::text[]) or ($2::boolean and ${ofUsers})
),
columns as (
  select a.attrelid, pg_catalog.json_agg(pg_catalog.json_build_object(
    'name', a.attname,
    'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
    'nullable', not (a.attnotnull or t.typtype = 'd' and t.typnotnull),
    'default', case when a.attgenerated = '' then pg_catalog.pg_get_expr(d.adbin, d.adrelid) end,
    'identity', case a.attidentity when 'a' then 'always' when 'd' then 'by default' end,
    'generated', case when a.attgenerated <> '' then pg_catalog.pg_get_expr(d.adbin, d.adrelid) end,
    'comment', o.description) order by a.attnum) as list
  from pg_attribute a
    join pg_type t on t.oid = a.atttypid
    join pg_class c on c.oid = a.attrelid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    left join pg_description o on o.classoid = 'pg_class'::regclass and o.objoid = a.attrelid and o.objsubid = a.attnum
  where a.attnum > 0 and not a.attisdropped and c.relnamespace in (select oid from shown)
    and c.relkind in ('r', 'p', 'f', 'v', 'm')
  group by a.attrelid
),
-- What belongs to a table is grouped once for all of them: a look-up for each of thousands takes seconds.
tables as (
  select c.oid from pg_class c where c.relkind in ('r', 'p', 'f') and c.relnamespace in (select oid from shown)
),
keys as (
  select k.oid, k.conrelid, k.conname, k.contype, k.confrelid, k.confupdtype, k.confdeltype,
    (select pg_catalog.json_agg(a.attname order by u.n) from pg_catalog.unnest(k.conkey) with ordinality u(num, n)
       join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.num) as columns,
    (select pg_catalog.json_agg(a.attname order by u.n) from pg_catalog.unnest(k.confkey) with ordinality u(num, n)
       join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.num) as referenced
  from pg_constraint k where k.contype in ('p', 'u', 'f') and k.connamespace in (select oid from shown)
),
${openViews},
-- To read the definition of a view takes a lock of everything that it reads, and would wait here, as would an expression
-- over columns.
locked as (
  select l.relation as oid from pg_catalog.pg_locks l
  where l.mode = 'AccessExclusiveLock' and l.relation is not null
    and l.database = (select d.oid from pg_database d where d.datname = pg_catalog.current_database())
),
actions(code, name) as (
  values ('a', 'NO ACTION'), ('r', 'RESTRICT'), ('c', 'CASCADE'), ('n', 'SET NULL'), ('d', 'SET DEFAULT')
),
unique_keys as (
  select conrelid, pg_catalog.json_agg(pg_catalog.json_build_object('name', conname, 'columns', columns) order by conname) as list
  from keys where contype = 'u' group by conrelid
),
foreign_keys as (
  select k.conrelid, pg_catalog.json_agg(pg_catalog.json_build_object(
    'name', k.conname, 'columns', k.columns,
    'references', pg_catalog.json_build_object('schema', rn.nspname, 'table', r.relname, 'columns', k.referenced),
    'on_update', u.name, 'on_delete', d.name) order by k.conname) as list
  from keys k join pg_class r on r.oid = k.confrelid join pg_namespace rn on rn.oid = r.relnamespace
    left join actions u on u.code = k.confupdtype::text left join actions d on d.code = k.confdeltype::text
  where k.contype = 'f' group by k.conrelid
),
index_blocks as (
  select x.indrelid, sum(i.relpages) as pages from pg_index x join pg_class i on i.oid = x.indexrelid group by x.indrelid
),
indexes as ${defined("d.indrelid", "i.relname", "pg_catalog.pg_get_indexdef(i.oid)", "pg_index d join pg_class i on i.oid = d.indexrelid where true")},
checks as ${defined("k.conrelid", "k.conname", "pg_catalog.pg_get_constraintdef(k.oid)", "pg_constraint k where k.contype = 'c'")},
triggers as ${defined("t.tgrelid", "t.tgname", "pg_catalog.pg_get_triggerdef(t.oid)", "pg_trigger t where not t.tgisinternal")}
select pg_catalog.json_build_object(
  'schemas', (select coalesce(pg_catalog.json_agg(nspname order by nspname), '[]') from shown),
  'tables', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'schema', n.nspname, 'name', c.relname,
      'type', case c.relkind when 'r' then 'table' when 'p' then 'partitioned table' else 'foreign table' end,
      'comment', pg_catalog.obj_description(c.oid, 'pg_class'),
      'columns', coalesce(l.list, '[]'),
      'primary_key', coalesce(k.columns, '[]'),
      'unique_keys', coalesce(uk.list, '[]'),
      'foreign_keys', coalesce(fk.list, '[]'),
      'row_level_security', pg_catalog.json_build_object('enabled', c.relrowsecurity, 'forced', c.relforcerowsecurity),
      'policies', (
        select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
          'name', p.polname,
          'command', case p.polcmd when '*' then 'ALL' when 'r' then 'SELECT' when 'a' then 'INSERT' when 'w' then 'UPDATE' else 'DELETE' end,
          'permissive', p.polpermissive,
          'roles', (select pg_catalog.json_agg(case when r = 0 then 'public' else pg_catalog.pg_get_userbyid(r) end order by r) from pg_catalog.unnest(p.polroles) r),
          'using', pg_catalog.pg_get_expr(p.polqual, p.polrelid),
          'check', pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid)) order by p.polname), '[]')
        from pg_policy p where p.polrelid = c.oid),
      'indexes', coalesce(ix.list, '[]'), 'checks', coalesce(ck.list, '[]'), 'triggers', coalesce(tg.list, '[]'),
      'grants', pg_catalog.json_build_object('anon', ${grantsOf("anon")}, 'authenticated', ${grantsOf("authenticated")}),
      ${estimatedRows},
      'bytes', pg_catalog.current_setting('block_size')::bigint * (greatest(c.relpages, 0) + coalesce(b.pages, 0)
        + coalesce(t.relpages, 0) + coalesce(tb.pages, 0))
    ) order by n.nspname, c.relname), '[]')
    from pg_class c join shown n on n.oid = c.relnamespace
      left join columns l on l.attrelid = c.oid
      left join keys k on k.conrelid = c.oid and k.contype = 'p'
      left join unique_keys uk on uk.conrelid = c.oid
      left join foreign_keys fk on fk.conrelid = c.oid
      left join indexes ix on ix.relation = c.oid
      left join checks ck on ck.relation = c.oid
      left join triggers tg on tg.relation = c.oid
      left join index_blocks b on b.indrelid = c.oid
      left join pg_class t on t.oid = c.reltoastrelid and c.reltoastrelid <> 0
      left join index_blocks tb on tb.indrelid = t.oid
    where c.relkind in ('r', 'p', 'f')),
  'views', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'schema', n.nspname, 'name', c.relname,
      'type', case c.relkind when 'v' then 'view' else 'materialized view' end,
      'comment', pg_catalog.obj_description(c.oid, 'pg_class'),
      'columns', coalesce(l.list, '[]'),
      ${estimatedRows},
      'definition', case when not exists (
        select from locked l where l.oid = c.oid or l.oid in (select r.oid from reads r where r.view = c.oid)
      ) then pg_catalog.pg_get_viewdef(c.oid) end) order by n.nspname, c.relname), '[]')
    from pg_class c join shown n on n.oid = c.relnamespace left join columns l on l.attrelid = c.oid
    where c.relkind in ('v', 'm')),
  'enums', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'type', pg_catalog.format_type(t.oid, null),
      'values', (select pg_catalog.json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid)
    ) order by pg_catalog.format_type(t.oid, null)), '[]')
    from pg_type t where t.typtype = 'e' and exists (select from pg_enum e where e.enumtypid = t.oid)
      and (t.typnamespace in (select oid from shown) or t.oid in (
        select a.atttypid from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relnamespace in (select oid from shown) and a.attnum > 0 and not a.attisdropped))),
  'warnings', (
    select coalesce(pg_catalog.json_agg(warning order by nspname, relname), '[]') from (
    select nspname, relname, pg_catalog.json_build_object(
      'code', 'VIEW_WITHOUT_POLICIES', 'schema', nspname, 'name', relname,
      'message', pg_catalog.format('%s shows rows of %s to callers of /v1/db without row-level security', named, tables),
      'hint', case relkind
        when 'v' then pg_catalog.format('alter view %s set (security_invoker); or: revoke select on %s from anon, authenticated;', named, named)
        else pg_catalog.format('revoke select on %s from anon, authenticated;', named) end) as warning
    from open_views
    union all select value ->> 'schema', value ->> 'name', value from pg_catalog.json_array_elements($3::json)) w),
  'functions', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'schema', n.nspname, 'name', p.proname,
      'arguments', pg_catalog.pg_get_function_arguments(p.oid), 'returns', pg_catalog.pg_get_function_result(p.oid),
      'language', l.lanname,
      'volatility', case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
      'security_definer', p.prosecdef,
      'comment', pg_catalog.obj_description(p.oid, 'pg_proc')) order by n.nspname, p.proname, pg_catalog.pg_get_function_arguments(p.oid)), '[]')
    from pg_proc p join shown n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
    where p.prokind in ('f', 'p', 'w'))
)::text`
