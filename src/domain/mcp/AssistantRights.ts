/** Schemas of the service, of Supabase and of extensions, which have hashes, tokens and keys: not for assistants. */
const closedSchemas =
  "'information_schema', 'svc', 'svc_ddl', 'auth', 'storage', 'realtime', 'vault', 'net', 'cron', 'pgsodium', 'supabase_functions', 'supabase_migrations'"

const isOfExtension = (catalogue: string) =>
  `exists (select from pg_depend d where d.classid = '${catalogue}'::regclass and d.objid = o.oid and d.deptype = 'e')`

/**
 * A view reads with the rights of its owner. So it is readable only if every relation in it is, and no function in it runs
 * with the rights of its owner. Dependencies on PostgreSQL's own relations are not recorded, but the view's tree names them.
 */
const readsSecrets = `exists (
  select from pg_rewrite w, regexp_matches(w.ev_action::text, ':(relid|funcid) ([0-9]+)', 'g') m
  where w.ev_class = o.oid and m[2]::oid <> o.oid and case m[1]
    when 'relid' then m[2] <> '0' and not has_table_privilege($1::name, m[2]::oid, 'select')
    else exists (select from pg_proc p where p.oid = m[2]::oid and p.prosecdef) end)`

/** A table with a partition or an heir that is foreign reads what that reads. */
const hasForeign = "o.oid in (select oid from over_foreign)"

/**
 * The statements that give the role $1 the right to read all tables and views of the user's schemas, and take it from those that
 * now read more, as a JSON array; `[]` if it has them. A view may follow from others, so it is asked until it is empty. Foreign
 * tables are left out: they read other servers and files. Run as the owner of the objects; $2: the database.
 */
export const assistantRightsSql = `
with recursive over_foreign as (
  select oid from pg_class where relkind = 'f'
  union
  select i.inhparent from pg_inherits i join over_foreign f on f.oid = i.inhrelid
), open_schema as (
  select o.oid, o.nspname, o.nspowner, has_schema_privilege($1::name, o.oid, 'usage') as has from pg_namespace o
  where o.nspname !~ '^pg_' and o.nspname not in (${closedSchemas}) and not ${isOfExtension("pg_namespace")}
), relation as (
  select o.oid, format('%I.%I', n.nspname, o.relname) as name, o.relacl,
    case when o.relkind in ('v', 'm') then ${readsSecrets} else ${hasForeign} end as more,
    has_table_privilege($1::name, o.oid, 'select') as has
  from pg_class o join open_schema n on n.oid = o.relnamespace
  where o.relkind in ('r', 'p', 'v', 'm') and o.relpersistence <> 't' and pg_has_role(o.relowner, 'usage')
    and not ${isOfExtension("pg_class")}
)
select coalesce(json_agg(text), '[]')::text from (
  select format('grant usage on schema %I to %I', nspname, $1::name) as text from open_schema where not has and pg_has_role(nspowner, 'usage')
  union all
  select format('grant select on %s to %I', o.name, $1::name) from relation o where not has and not more
  union all
  select format('revoke all on %s from %I', o.name, $1::name) from relation o
  where has and more and exists (select from aclexplode(o.relacl) a where a.grantee = $1::name::regrole)
) t`

/** The statement that lets the role $1 connect to the database $2, if it may not; run in the main database. */
export const assistantConnectSql = `
select format('grant connect on database %I to %I', d.datname, $1::name) as text from pg_database d
where d.datname = $2::name and not has_database_privilege($1::name, d.oid, 'connect')`
