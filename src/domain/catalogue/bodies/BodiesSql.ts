import { firstOid } from "../CleanFunctions.ts"

/** Longer bodies, in characters, are not read. */
const maxBody = 16_384

/**
 * CREATE FUNCTION up to the body, without the defaults of arguments, whose deparsing fails if they name something that is
 * being dropped. Empty, after which no body parses, if the function itself is.
 */
const head = `coalesce(pg_catalog.concat('create function f(', (
      select pg_catalog.string_agg(pg_catalog.concat_ws(' ',
        case p.proargmodes[a.n] when 'o' then 'out' when 'b' then 'inout' when 'v' then 'variadic' end,
        pg_catalog.quote_ident(nullif(p.proargnames[a.n], '')), pg_catalog.format_type(a.type, -1)), ', ' order by a.n)
      from pg_catalog.unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality a(type, n)
      where coalesce(p.proargmodes[a.n], 'i') <> 't'
    ), ') returns ' || pg_catalog.pg_get_function_result(p.oid), ' language plpgsql as'), '')`

/**
 * The functions in SQL and PL/pgSQL whose bodies are text, as one JSON text; see `Body`. Empty unless the parser
 * supports the server's grammar (PostgreSQL 15 to 18) and the database is in UTF8, because names are folded to lower
 * case by its encoding.
 */
export const bodiesSql = `
select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
    'oid', p.oid::text, 'xmin', p.xmin::text, 'language', l.lanname,
    'source', p.prosrc, 'head', case l.lanname when 'sql' then '' else ${head} end,
    'pathed', p.proconfig is not null)), '[]')::text
from pg_proc p join pg_language l on l.oid = p.prolang
where p.oid >= ${firstOid} and l.oid < ${firstOid} and l.lanname in ('sql', 'plpgsql') and p.prokind = 'f'
  and p.prosqlbody is null and p.prosupport = 0
  and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
  and p.pronamespace not in (select oid from pg_namespace where nspname in ('svc', 'svc_ddl', 'pg_catalog', 'information_schema'))
  and pg_catalog.length(p.prosrc) <= ${maxBody}
  and not exists (select from pg_catalog.unnest(p.proconfig) setting where setting !~ '^search_path=')
  and pg_catalog.getdatabaseencoding() = 'UTF8'
  and pg_catalog.current_setting('server_version_num')::int4 between 150000 and 189999`

/**
 * WITH parts of `cleanSql`: `bodies`, what `$2` says of functions that are still the same, of kind `p` if they write, which
 * only a call from outside may do.
 */
export const bodiesPart = `
bodies as materialized (
  select b.*, t.typrelid, case when b.writes then 'p' else 'f' end as kind
  from pg_catalog.json_to_recordset($2::json) b(oid oid, xmin text, writes boolean, calls name[], attributes name[], unread name[],
      operators name[], relations name[], inserted name[], changed name[], types name[], bare_functions name[],
      bare_operators name[], bare_relations name[], bare_types name[])
    join pg_proc p on p.oid = b.oid and p.xmin::text = b.xmin
    join pg_type t on t.oid = p.prorettype
  where not exists (select from pg_catalog.unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) a where a not in (select oid from plain_types))
    and (p.prorettype in (select oid from plain_types) or p.prorettype = 'void'::regtype
         or p.prorettype = 'record'::regtype and p.proallargtypes is not null
         or t.typrelid in (select oid from readable))
    -- A body does not show the casts that PostgreSQL chooses for its values. Rows that have such casts are not readable.
    and not exists (
      select from pg_cast k where k.castfunc in (select oid from own_functions)
        and (k.castsource < ${firstOid} or k.castsource in (select oid from plain_types)))
),
-- Overloads of PostgreSQL's functions in C for a type of an extension: a body without that type does not choose them.
foreign_overloads as materialized (
  select p.oid from pg_proc p join pg_language l on l.oid = p.prolang and l.lanname = 'c'
  where p.oid >= ${firstOid} and p.proname in (select proname from native) and exists (
    select from pg_catalog.unnest(p.proargtypes::oid[]) a join pg_type t on t.oid = a
      left join pg_type e on e.oid = t.typelem and t.typlen = -1
    where t.oid >= ${firstOid} and coalesce(e.typtype, t.typtype) = 'b')
),
-- The functions that a call may mean, and a name behind a dot: PostgreSQL calls x.f as f(x), whatever the type of x.
named_functions as materialized (
  select b.kind, b.oid, p.oid as by from bodies b cross join lateral pg_catalog.unnest(b.calls) named(name)
    join pg_proc p on p.proname = named.name
  where p.oid not in (select oid from foreign_overloads)
  union select b.kind, b.oid, p.oid from bodies b cross join lateral pg_catalog.unnest(b.attributes) named(name)
    join pg_proc p on p.proname = named.name and p.pronargs > 0 and p.pronargs - p.pronargdefaults <= 1
  where p.oid not in (select oid from foreign_overloads)
),
named_operators as materialized (
  select b.kind, b.oid, o.oid as by, o.oprcode::oid as code, named.name = any (b.bare_operators) as bare,
    o.oid >= ${firstOid} and not exists (
      select from (values (o.oprleft), (o.oprright)) side(type)
      where type >= ${firstOid} and type not in (select oid from plain_types)) as fits
  from bodies b cross join lateral pg_catalog.unnest(b.operators) named(name) join pg_operator o on o.oprname = named.name
)`

/** The uses of bodies, in the form of `uses`. They may contain UNION ALL, so CHECK constraints count for all. */
export const bodyUses = `
  select case k.kind when 'f' then n.kind else k.kind end, n.oid, used, n.by
    from named_functions n cross join (values ('f', 'f'), ('f', 'c'), ('c', 'c')) k(kind, used)
    where n.by not in (select oid from clean_functions)
  union select n.kind, n.oid, 'f', n.code from named_operators n join clean_operators o on o.oid = n.by and o.called
  union select case k.kind when 'f' then b.kind else k.kind end, b.oid, used, c.oid from bodies b cross join lateral pg_catalog.unnest(b.relations) named(name)
    join pg_class c on c.relname = named.name and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't'
    cross join (values ('f', 'r'), ('f', 'c'), ('c', 'c')) k(kind, used)
  union select kind, oid, 'r', typrelid from bodies where typrelid <> 0`

/** Bodies that may run user code. */
export const wrongBodies = `
  select kind, oid from named_operators where code in (select oid from own_functions)
  union select b.kind, b.oid from bodies b cross join lateral pg_catalog.unnest(b.types) named(name)
    join pg_type t on t.typname = named.name
    where t.oid not in (select oid from plain_types) and t.oid <> 'record'::regtype
  -- A call may be a cast, but not to a row, and so may a name behind a dot.
  union select b.kind, b.oid from bodies b cross join lateral pg_catalog.unnest(b.calls || b.attributes) named(name)
    join pg_type t on t.typname = named.name
    where t.oid not in (select oid from plain_types) and t.typrelid = 0
  union select b.kind, b.oid from bodies b cross join lateral pg_catalog.unnest(b.unread) named(name)
    where exists (select from pg_proc p where p.proname = named.name and p.oid not in (select oid from clean_functions)
                    and p.oid not in (select oid from foreign_overloads))
       or exists (select from pg_class c where c.relname = named.name and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't')
       or exists (select from pg_type t where t.typname = named.name and t.typrelid = 0 and t.typtype <> 'p'
                    and t.oid not in (select oid from plain_types))`

/** Bodies whose meaning depends on the search path. */
export const bodiesOnPath = `
  select kind, oid from named_operators where bare and fits
  union select kind, oid from bodies where pg_catalog.cardinality(bare_relations) > 0
  union select n.kind, n.oid from named_functions n join pg_proc p on p.oid = n.by join bodies b on b.oid = n.oid
    where p.oid >= ${firstOid} and p.proname = any (b.bare_functions)
  union select b.kind, b.oid from bodies b cross join lateral pg_catalog.unnest(b.bare_types) named(name)
    join pg_type t on t.typname = named.name where t.oid >= ${firstOid} and t.typrelid = 0`
