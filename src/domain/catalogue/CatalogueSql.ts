import { ddlWatchedSql } from "./DdlSql.ts"
import { computedRelationshipsSql, keyedSql, keysSql, viewsSql } from "./RelationshipSql.ts"

/** Stamp of a relation `c`; includes columns and keys, whose changes may leave the relation's own entry unchanged. */
const relationStamp = `c.oid || ':' || c.xmin || ':' || coalesce((
  select hashtextextended(string_agg(a.xmin::text, ',' order by a.attnum), 0) from pg_attribute a
  where a.attrelid = c.oid and a.attnum > 0), 0) || ':' || coalesce((
  select hashtextextended(string_agg(k.oid || '.' || k.xmin, ',' order by k.oid), 0) from pg_constraint k
  where k.conrelid = c.oid), 0)`

/** Current stamps of the relations and functions of a name ($1 schema, $2 name): cheap enough for each unknown name. */
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
 * Reads the catalogue of the schemas in `$1` (a text array) as one JSON text.
 *
 * The `clean_…` columns tell which statements on a relation run no user code, so that they leave nothing in the session
 * for the next caller and no reset is needed after them. They are derived from the stored expressions: policies, defaults,
 * generated columns, constraints and index expressions may use only built-in types, and built-in functions and operators
 * without side effects. Anything else is not clean, which is only slower.
 */
export const catalogueSql = `
with exposed as (
  select oid, nspname from pg_namespace where nspname = any ($1::text[])
),
-- Names of types that are valid with any search path.
type_names as (
  select t.oid, format('%I.%I', n.nspname, e.typname) || case when e.oid = t.oid then '' else '[]' end as name
  from pg_type t
    join pg_type e on e.oid = case when t.typcategory = 'A' and t.typlen = -1 and t.typelem <> 0 then t.typelem else t.oid end
    join pg_namespace n on n.oid = e.typnamespace
  where e.typnamespace <> 'pg_catalog'::regnamespace
),
-- The base type behind any chain of domains.
base_types as (
  with recursive look as (
    select oid, oid as base, typtype, typbasetype from pg_type
    union all
    select l.oid, t.oid, t.typtype, t.typbasetype from look l join pg_type t on l.typtype = 'd' and t.oid = l.typbasetype
  )
  select l.oid, case
      when l.base in ('json'::regtype, 'jsonb'::regtype) then 'json'
      when l.base = 'tsvector'::regtype then 'tsvector'
      when t.typcategory = 'A' then 'array'
      when l.typtype = 'c' then 'composite'
      else 'other'
    end as kind
  from look l join pg_type t on t.oid = l.base where l.typtype <> 'd'
),
-- Built-in functions without side effects on the session. The volatile ones are common in defaults.
pure_functions as (
  select oid from pg_proc
  where pronamespace = 'pg_catalog'::regnamespace
    and (provolatile <> 'v' or proname in ('nextval', 'gen_random_uuid', 'uuidv4', 'uuidv7', 'clock_timestamp', 'random', 'timeofday'))
    and proname !~ '(_to_xml|^ts_stat|^ts_rewrite)'
),
pure_operators as (
  select oid from pg_operator
  where oprnamespace = 'pg_catalog'::regnamespace and oprcode::oid in (select oid from pure_functions)
),
-- Built-in types, arrays of them, and enums without casts of their own (json_agg would call them).
plain_types as (
  select t.oid from pg_type t left join pg_type e on e.oid = t.typelem and t.typlen = -1
  where (t.typnamespace = 'pg_catalog'::regnamespace
         or coalesce(e.typtype, t.typtype) = 'e'
            and not exists (select from pg_cast c where c.castsource in (t.oid, e.oid)))
    and t.typtype in ('b', 'e', 'r', 'm')
),
own_types as (
  select oid from pg_type where typnamespace <> 'pg_catalog'::regnamespace and oid not in (select oid from plain_types)
),
expressions as (
  select polrelid as relid, 'policy' as part, polqual::text as tree, polqual as node from pg_policy where polqual is not null
  union all select polrelid, 'policy', polwithcheck::text, polwithcheck from pg_policy where polwithcheck is not null
  union all select adrelid, 'value', adbin::text, adbin from pg_attrdef
  union all select conrelid, 'value', conbin::text, conbin from pg_constraint where conbin is not null and conrelid <> 0
  -- The planner reads these for SELECT too, and evaluates their constant parts.
  union all select indrelid, 'index', indexprs::text, null from pg_index where indexprs is not null
  union all select indrelid, 'index', indpred::text, null from pg_index where indpred is not null
  union all select stxrelid, 'index', stxexprs::text, null from pg_statistic_ext where stxexprs is not null
  union all select oid, 'body', prosqlbody::text, null from pg_proc where prosqlbody is not null
  union all select oid, 'body', proargdefaults::text, null from pg_proc where proargdefaults is not null and prosqlbody is not null
),
impure as (
  select distinct relid, part from expressions e
  where (
     relid in (select oid from pg_class where relnamespace in (select oid from exposed))
     or relid in (select oid from pg_proc where pronamespace in (select oid from exposed))
  ) and (
     tree ~ '[{](SUBLINK|COERCETODOMAIN|ROWCOMPARE)' or part = 'body' and tree ~ '[{](RANGETBLENTRY|RTE)'
     -- Of a request's settings, the fast paths set only the claims.
     or tree ~ ':funcid (2077|3294) ' and regexp_replace(
          case part when 'body' then pg_get_function_sqlbody(relid) else pg_get_expr(node, relid) end,
          $re$current_setting\\('request\\.jwt\\.(claims|sub)'::text(, (true|false))?\\)$re$, '', 'g') ~ 'current_setting'
     -- Other types may have checks, casts and output functions.
     or exists (
       select from regexp_matches(tree, '[:a-z_](?:type|typeid|typeId) ([0-9]+)', 'g') m
       where m[1]::oid = any (array(select oid from own_types)))
     or exists (
       select from regexp_matches(tree, ':(?:funcid|aggfnoid|winfnoid) ([0-9]+)', 'g') m
       where m[1]::oid not in (select oid from pure_functions))
     or exists (
       select from regexp_matches(tree, ':opno ([0-9]+)', 'g') m
       where m[1]::oid not in (select oid from pure_operators))
  )
),
-- Functions in C belong to extensions, which administrators install: only those in other languages count.
own_functions as (
  select p.oid from pg_proc p join pg_language l on l.oid = p.prolang where l.lanname not in ('internal', 'c')
),
-- A user-defined comparison, sort order or implicit cast on built-in types could be chosen: then nothing is clean.
own_operators as (
  select exists (
    select from pg_operator o join pg_type l on l.oid = o.oprleft
    where o.oprname in ('=', '<>', '<', '>', '<=', '>=', '~~', '~~*', '~', '~*', '@>', '<@', '&&', '<<', '>>', '&<', '&>', '-|-', '@@', '->', '->>')
      and o.oprnamespace <> 'pg_catalog'::regnamespace and o.oprcode::oid in (select oid from own_functions)
      and (l.oid in (select oid from plain_types) or l.typnamespace = 'pg_catalog'::regnamespace)
  ) or exists (
    select from pg_opclass c join pg_type t on t.oid = c.opcintype
    where (t.oid in (select oid from plain_types) or t.typnamespace = 'pg_catalog'::regnamespace)
      and (exists (select from pg_amproc a where a.amprocfamily = c.opcfamily and a.amproc::oid in (select oid from own_functions))
           or exists (select from pg_amop a join pg_operator o on o.oid = a.amopopr
                      where a.amopfamily = c.opcfamily and o.oprcode::oid in (select oid from own_functions)))
  ) or exists (
    select from pg_cast k
    where k.castfunc in (select oid from own_functions) and k.castcontext <> 'e'
      and k.castsource in (select oid from plain_types) and k.casttarget in (select oid from plain_types)
  ) as some
),
relations as (
  select c.oid, n.nspname, c.relname, ${relationStamp} as stamp,
    case c.relkind when 'r' then 'table' when 'p' then 'partitioned' when 'v' then 'view' when 'm' then 'materialized'
      else 'foreign' end as kind,
    c.reltype,
    c.relkind in ('r', 'm') and not own.some
      and not exists (select from pg_inherits i where i.inhparent = c.oid)
      and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                        and a.atttypid not in (select oid from plain_types))
      and not exists (select from impure i where i.relid = c.oid and i.part = 'index')
      and not exists (select from impure i where i.relid = c.oid and i.part = 'policy' and c.relrowsecurity)
      and not exists (select from pg_attribute a join impure i on i.relid = a.attrelid and i.part = 'value'
                       where a.attrelid = c.oid and a.attgenerated = 'v') as clean_read,
    -- A partition's constraint derives from its parent's key, which may call functions.
    c.relkind = 'r' and not c.relhasrules and not c.relispartition
      and not exists (select from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)
      and not exists (select from impure i where i.relid = c.oid and i.part = 'value') as clean_insert,
    c.oid not in (select k.confrelid from pg_constraint k
                  where k.contype = 'f' and (k.confdeltype not in ('a', 'r') or k.confupdtype not in ('a', 'r'))) as clean_keys
  from pg_class c join exposed n on n.oid = c.relnamespace cross join own_operators own
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't'
),
-- Grouped once for all relations: a lookup for each of thousands would take seconds.
columns as (
  select a.attrelid as of, json_agg(json_build_object(
      'name', a.attname, 'type', coalesce(tn.name, format_type(a.atttypid, a.atttypmod)), 'type_oid', a.atttypid::int8,
      'generated', a.attgenerated <> '' or a.attidentity = 'a', 'domain', t.typtype = 'd', 'kind', b.kind)
    order by a.attnum) as columns
  from relations r
    join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
    join base_types b on b.oid = t.oid
    left join type_names tn on tn.oid = t.oid
  group by a.attrelid
),
-- Computed columns: functions of a row that return one value.
computed as (
  select p.proargtypes[0] as of, json_agg(json_build_object(
      'name', p.proname, 'schema', n.nspname, 'type', coalesce(tn.name, format_type(p.prorettype, -1)),
      'type_oid', p.prorettype::int8, 'kind', b.kind) order by n.nspname, p.proname) as columns
  from pg_proc p
    join exposed n on n.oid = p.pronamespace
    join pg_type t on t.oid = p.prorettype and t.typtype <> 'p'
    join base_types b on b.oid = t.oid
    left join type_names tn on tn.oid = t.oid
  where p.prokind = 'f' and p.pronargs = 1 and not p.proretset
    and p.proargtypes[0] in (select reltype from relations)
    and not exists (select from pg_class c where c.oid = t.typrelid and c.relkind <> 'c')
  group by p.proargtypes[0]
),
functions as (
  select p.oid, n.nspname, p.proname, p.oid || ':' || p.xmin as stamp, p.proretset, p.provolatile = 'v' as volatile,
    (select json_build_object('schema', rn.nspname, 'name', rc.relname) from pg_class rc join exposed rn on rn.oid = rc.relnamespace
     where rc.oid = t.typrelid and rc.relkind <> 'c') as returns,
    case when p.pronargs = 1 and coalesce(p.proargnames[1], '') = '' and not coalesce(p.proargmodes && '{o,b,v}'::"char"[], false)
        and p.proargtypes[0] in ('json'::regtype, 'jsonb'::regtype, 'text'::regtype, 'bytea'::regtype, 'xml'::regtype)
      then format_type(p.proargtypes[0], -1) end as body,
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
               'name', coalesce(p.proargnames[a.n], ''), 'type', coalesce((select name from type_names where oid = a.type), format_type(a.type, -1)),
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
  'watched', ${ddlWatchedSql},
  'relations', coalesce((
    select json_agg(json_build_object(
      'schema', r.nspname, 'name', r.relname, 'stamp', r.stamp,
      'kind', r.kind,
      'computed', coalesce(cc.columns, '[]'),
      'clean_read', r.clean_read,
      'clean_insert', r.clean_read and r.clean_insert,
      'clean_change', r.clean_read and r.clean_insert and r.clean_keys,
      'columns', coalesce(a.columns, '[]')
    )) from relations r left join columns a on a.of = r.oid left join computed cc on cc.of = r.reltype), '[]'),
  'functions', coalesce((
    select json_agg(json_build_object(
      'schema', r.nspname, 'name', r.proname, 'stamp', r.stamp, 'arguments', r.arguments, 'outputs', r.outputs, 'set', r.proretset,
      'result', r.result, 'volatile', r.volatile, 'returns', r.returns, 'body', r.body, 'clean', r.clean)) from functions r), '[]'),
  'relationships', json_build_object(
    'keys', (select coalesce(json_agg(k), '[]') from (${keysSql}) k),
    'keyed', (select coalesce(json_agg(k), '[]') from (${keyedSql}) k),
    'views', (select coalesce(json_agg(v), '[]') from (${viewsSql}) v),
    'computed', (select coalesce(json_agg(c), '[]') from (${computedRelationshipsSql}) c))
)::text`
