/**
 * Reads the catalogue of the schemas in `$1` (a text array) as one JSON text.
 *
 * The `clean_…` columns say which statements on a relation run no user-written code, so that nothing can be left in
 * the session for the next caller and no reset is needed after them. They are decided from the stored expressions:
 * policies, defaults, generated columns, constraints and index expressions may use only built-in functions and
 * operators that change nothing but themselves. Anything not recognised is not clean, which is only slower.
 */
export const catalogueSql = `
with exposed as (
  select oid, nspname from pg_namespace where nspname = any ($1::text[])
),
-- Built-in functions that leave nothing behind. The volatile ones are those that defaults are made of.
pure_functions as (
  select oid from pg_proc
  where pronamespace = 'pg_catalog'::regnamespace
    and (provolatile <> 'v' or proname in ('nextval', 'gen_random_uuid', 'uuidv4', 'uuidv7', 'clock_timestamp', 'random', 'timeofday'))
    and proname !~ '(_to_xml|^ts_stat|^ts_rewrite)'
),
expressions as (
  select polrelid as relid, 'policy' as part, polqual::text as tree from pg_policy where polqual is not null
  union all select polrelid, 'policy', polwithcheck::text from pg_policy where polwithcheck is not null
  union all select adrelid, 'value', adbin::text from pg_attrdef
  union all select conrelid, 'value', conbin::text from pg_constraint where conbin is not null and conrelid <> 0
  union all select indrelid, 'value', indexprs::text from pg_index where indexprs is not null
  union all select indrelid, 'value', indpred::text from pg_index where indpred is not null
  union all select oid, 'body', prosqlbody::text from pg_proc where prosqlbody is not null
  union all select oid, 'body', proargdefaults::text from pg_proc where proargdefaults is not null and prosqlbody is not null
),
impure as (
  select distinct relid, part from expressions e
  where (case when part = 'body' then tree ~ '[{](RANGETBLENTRY|RTE|SUBLINK|COERCETODOMAIN)' else tree ~ '[{](SUBLINK|COERCETODOMAIN)' end)
     or exists (
       select from regexp_matches(tree, ':(?:funcid|aggfnoid|winfnoid) ([0-9]+)', 'g') m
       where m[1]::oid not in (select oid from pure_functions))
     or exists (
       select from regexp_matches(tree, ':opno ([0-9]+)', 'g') m
       where not exists (
         select from pg_operator o where o.oid = m[1]::oid and o.oprnamespace = 'pg_catalog'::regnamespace
           and o.oprcode::oid in (select oid from pure_functions)))
),
-- Built-in types, arrays of them, and enums that nobody gave a cast (json_agg would call it).
plain_types as (
  select t.oid from pg_type t left join pg_type e on e.oid = t.typelem and t.typlen = -1
  where (t.typnamespace = 'pg_catalog'::regnamespace
         or coalesce(e.typtype, t.typtype) = 'e'
            and not exists (select from pg_cast c where c.castsource in (t.oid, e.oid)))
    and t.typtype in ('b', 'e', 'r', 'm')
),
-- Somebody's own comparison on built-in types might be chosen for a filter: then nothing is clean.
own_operators as (
  select exists (
    select from pg_operator o join pg_type l on l.oid = o.oprleft join pg_type r on r.oid = o.oprright
    where o.oprname in ('=', '<>', '<', '>', '<=', '>=', '~~', '~~*')
      and o.oprnamespace <> 'pg_catalog'::regnamespace
      and l.typnamespace = 'pg_catalog'::regnamespace and r.typnamespace = 'pg_catalog'::regnamespace) as some
),
relations as (
  select c.oid, n.nspname, c.relname, c.oid || ':' || c.xmin as stamp,
    c.relkind in ('r', 'm') and not own.some
      and not exists (select from pg_inherits i where i.inhparent = c.oid)
      and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                        and a.atttypid not in (select oid from plain_types))
      and not exists (select from impure i where i.relid = c.oid and i.part = 'policy' and c.relrowsecurity)
      and not exists (select from pg_attribute a join impure i on i.relid = a.attrelid and i.part = 'value'
                       where a.attrelid = c.oid and a.attgenerated = 'v') as clean_read,
    c.relkind = 'r' and not c.relhasrules
      and not exists (select from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)
      and not exists (select from impure i where i.relid = c.oid and i.part = 'value') as clean_insert,
    not exists (select from pg_constraint k where k.confrelid = c.oid
                  and (k.confdeltype not in ('a', 'r') or k.confupdtype not in ('a', 'r'))) as clean_keys
  from pg_class c join exposed n on n.oid = c.relnamespace cross join own_operators own
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't'
),
routines as (
  select p.oid, n.nspname, p.proname, p.oid || ':' || p.xmin as stamp, p.proretset, p.provolatile = 'v' as volatile,
    case
      when p.prorettype = 'void'::regtype then 'void'
      when p.prorettype = 'record'::regtype and p.proallargtypes is null then 'record'
      when p.proargmodes && '{t,b,o}'::"char"[] or t.typtype = 'c' then 'row'
      when t.typtype = 'd' and exists (select from pg_type b where b.oid = t.typbasetype and b.typtype = 'c') then 'row'
      else 'scalar'
    end as result,
    l.lanname = 'sql' and p.prosqlbody is not null and not own.some
      and not exists (select from impure i where i.relid = p.oid and i.part = 'body')
      and not exists (select from unnest(p.proargtypes || p.prorettype) a
                       where a not in (select oid from plain_types) and a not in ('void'::regtype)) as clean,
    coalesce((
      select json_agg(coalesce(p.proargnames[u.n], '') order by u.n)
      from unnest(p.proargmodes) with ordinality u(mode, n) where u.mode in ('t', 'b', 'o')), '[]') as outputs,
    coalesce((
      select json_agg(json_build_object(
               'name', coalesce(p.proargnames[a.n], ''), 'type', format_type(a.type, null),
               'optional', a.k > p.pronargs - p.pronargdefaults, 'variadic', a.mode = 'v') order by a.n)
      from (
        select u.n, u.type, coalesce(p.proargmodes[u.n], 'i') as mode,
               row_number() over (order by u.n) as k
        from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality u(type, n)
        where coalesce(p.proargmodes[u.n], 'i') in ('i', 'b', 'v')
      ) a), '[]') as arguments
  from pg_proc p
    join exposed n on n.oid = p.pronamespace
    join pg_type t on t.oid = p.prorettype
    join pg_language l on l.oid = p.prolang
    cross join own_operators own
  where p.prokind = 'f' and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype)
)
select json_build_object(
  'watched', exists (select from pg_event_trigger where evtname = 'svc_ddl' and evtenabled in ('O', 'A')),
  'relations', coalesce((
    select json_agg(json_build_object(
      'schema', r.nspname, 'name', r.relname, 'stamp', r.stamp,
      'clean_read', r.clean_read,
      'clean_insert', r.clean_read and r.clean_insert,
      'clean_change', r.clean_read and r.clean_insert and r.clean_keys,
      'columns', coalesce((
        select json_agg(json_build_object(
          'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
          'generated', a.attgenerated <> '' or a.attidentity = 'a') order by a.attnum)
        from pg_attribute a where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped), '[]')
    )) from relations r), '[]'),
  'routines', coalesce((
    select json_agg(json_build_object(
      'schema', r.nspname, 'name', r.proname, 'stamp', r.stamp, 'arguments', r.arguments, 'outputs', r.outputs, 'set', r.proretset,
      'result', r.result, 'volatile', r.volatile, 'clean', r.clean)) from routines r), '[]')
)::text`

/**
 * Stamps of what stands in the catalogue under a name now ($1 schema, $2 name), relations and functions alike: cheap
 * enough to ask whenever a name was not found.
 */
export const stampsSql = `
select coalesce(string_agg(stamp, ',' order by stamp), '') from (
  select c.oid || ':' || c.xmin as stamp from pg_class c
    where c.relname = $2 and c.relnamespace = (select oid from pg_namespace where nspname = $1)
      and c.relkind in ('r', 'p', 'v', 'm', 'f')
  union all
  select p.oid || ':' || p.xmin from pg_proc p
    where p.proname = $2 and p.pronamespace = (select oid from pg_namespace where nspname = $1)
      and p.prokind = 'f' and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype)
) s`
