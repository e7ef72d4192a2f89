/** Statements and parts of them about one relation. */

/** Of a relation `c`. Renaming a column, changing its type or adding a key may leave the relation's own entry as it was. */
export const relationStamp = `c.oid || ':' || c.xmin || ':' || coalesce((
  select hashtextextended(string_agg(a.xmin::text, ',' order by a.attnum), 0) from pg_attribute a
  where a.attrelid = c.oid and a.attnum > 0), 0) || ':' || coalesce((
  select hashtextextended(string_agg(k.oid || '.' || k.xmin, ',' order by k.oid), 0) from pg_constraint k
  where k.conrelid = c.oid), 0)`

/**
 * Stamps of what stands in the catalogue under a name now ($1 schema, $2 name), relations and functions alike: cheap
 * enough to ask whenever a name was not found.
 */
export const stampsSql = `
select coalesce(string_agg(stamp, ',' order by stamp), '') from (
  select ${relationStamp} as stamp from pg_class c
    where c.relname = $2 and c.relnamespace = (select oid from pg_namespace where nspname = $1)
      and c.relkind in ('r', 'p', 'v', 'm', 'f')
  union all
  select p.oid || ':' || p.xmin from pg_proc p
    where p.proname = $2 and p.pronamespace = (select oid from pg_namespace where nspname = $1)
      and p.prokind = 'f' and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype)
) s`

/**
 * Which statements a relation takes ($1 schema, $2 name), a bit for each: 4 update, 8 insert, 16 delete; views also by
 * INSTEAD OF triggers. Not part of the catalogue, because it asks foreign data wrappers.
 */
export const writableSql = `
select coalesce((
  select case when c.relkind in ('r', 'p') then 28 when c.relkind = 'm' then 0 else pg_relation_is_updatable(c.oid, true) end
  from pg_class c where c.relname = $2 and c.relnamespace = (select oid from pg_namespace where nspname = $1)
    and c.relkind in ('r', 'p', 'v', 'm', 'f')), 0)::text`
