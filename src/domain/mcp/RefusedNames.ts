import { quoteLiteral } from "../sql/Names.ts"
import { allowedFunctions } from "./ReadLists.ts"

/** PostgreSQL's own objects have smaller OIDs. */
const firstOfUsers = 16_384

const isOfExtension = (catalogue: string, oid: string) => `exists (
  select from pg_depend d where d.classid = '${catalogue}'::regclass and d.objid = ${oid} and d.deptype = 'e')`

/**
 * Allows PostgreSQL's functions that are immutable or listed, and those of extensions that are written in C, which only
 * superusers install, and whose results depend only on their arguments. No function of a user is allowed.
 */
const isAllowed = (extensions: string) => `(
  p.oid < ${firstOfUsers} and p.pronamespace = 'pg_catalog'::regnamespace
    and (p.provolatile = 'i' or p.proname in (${Array.from(allowedFunctions, quoteLiteral).join(", ")}))
  or p.prolang in (select oid from pg_language where lanname in ('c', 'internal')) and p.provolatile in (${extensions})
    and ${isOfExtension("pg_proc", "p.oid")})`

const isAsked = (kind: string, name: string, namespace: string) =>
  `a.kind = '${kind}' and a.name = ${name} and (a.schema is null or a.schema = (select nspname from pg_namespace where oid = ${namespace}))`

/**
 * Returns the names of a statement ($1, a JSON array of `ReadName`) that may lead to code that is not allowed, as a
 * JSON array of texts. Which of several objects a name means depends on the types of its arguments and the search path,
 * so all objects of that name, in all schemas unless it names one, have to be allowed. PostgreSQL itself refuses a name
 * that no object has. It runs with `pg_catalog` as the search path.
 */
export const refusedSql = `
with a as (
  select kind, schema::name as schema, name::name as name from json_to_recordset($1::json) as j (kind text, schema text, name text)
), refused (kind, name) as (
  select 'function', p.proname from a join pg_proc p on ${isAsked("function", "p.proname", "p.pronamespace")}
    where not ${isAllowed("'i'")}
  union
  select 'function', p.proname from a join pg_proc p on a.kind = 'attribute' and a.name = p.proname
    where (p.pronargs - p.pronargdefaults <= 1 and p.pronargs >= 1 or p.provariadic <> 0) and not ${isAllowed("'i'")}
  union
  select 'operator', o.oprname from a join pg_operator o on ${isAsked("operator", "o.oprname", "o.oprnamespace")}
      join pg_proc p on p.oid = o.oprcode
    where not (o.oid < ${firstOfUsers} or ${isAllowed("'i', 's'")})
  union
  select 'type', t.typname from a join pg_type t on a.kind in ('type', 'attribute') and a.name = t.typname
      and (a.schema is null or a.schema = (select nspname from pg_namespace where oid = t.typnamespace))
      left join pg_type e on e.oid = t.typelem and t.typcategory = 'A'
    where coalesce(e.oid, t.oid) >= ${firstOfUsers} and coalesce(e.typtype, t.typtype) not in ('e', 'c', 'r', 'm')
        and not ${isOfExtension("pg_type", "coalesce(e.oid, t.oid)")}
      or exists (select from pg_cast c join pg_proc p on p.oid = c.castfunc
                 where c.casttarget in (t.oid, e.oid) and c.oid >= ${firstOfUsers} and not ${isAllowed("'i', 's'")})
)
select coalesce(json_agg(kind || ' ' || name order by kind, name), '[]')::text from refused`
