import { logPublication } from "../changes/LogSql.ts"
import { quoteLiteral } from "../sql/Names.ts"
import { type BranchNames } from "./Branch.ts"

/**
 * Runs in the main database: revokes CONNECT from PUBLIC and grants it to each existing role, so that roles of
 * branches, which are created later, can't connect. Does nothing when PUBLIC has no such right.
 */
export const closeMainSql = `do $do$
declare
  guest record;
begin
  if not exists (
    select from pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
    where d.datname = current_database() and a.grantee = 0 and a.privilege_type = 'CONNECT'
  ) then return; end if;
  for guest in select rolname from pg_roles where not rolsuper and rolname !~ '^(pg|svc_branch)_' loop
    execute format('grant connect on database %I to %I', current_database(), guest.rolname);
  end loop;
  execute format('revoke connect on database %I from public', current_database());
  -- The embedded server belongs to the service.
  if current_setting('cluster_name') = 'svc' and (select rolsuper from pg_roles where rolname = current_user) then
    revoke connect on database template1 from public;
  end if;
end $do$`

/**
 * Drops the subscriptions of the current database without contacting the publisher. A copy has none; a dump may contain
 * some, which would prevent DROP DATABASE.
 */
export const unsubscribeSql = `do $do$
declare
  subscription record;
begin
  for subscription in select subname from pg_subscription s join pg_database d on d.oid = s.subdbid
                      where d.datname = current_database() loop
    execute format('alter subscription %I disable', subscription.subname);
    execute format('alter subscription %I set (slot_name = none)', subscription.subname);
    execute format('drop subscription %I', subscription.subname);
  end loop;
end $do$`

/**
 * Runs in the copy: drops the service's own objects, so that no webhook is called and no secret is left. User mappings
 * go too, so that a branch can't reach other databases with their passwords.
 */
export const strippingSql: ReadonlyArray<string> = [
  // This drops the event triggers too, which may be a superuser's.
  "drop schema if exists svc, svc_ddl cascade",
  `drop publication if exists ${logPublication}`,
  unsubscribeSql,
  `do $do$
declare
  mapping record;
begin
  for mapping in select srvname, case when umuser = 0 then 'public' else quote_ident(usename) end as who
                 from pg_user_mappings loop
    execute format('drop user mapping for %s server %I', mapping.who, mapping.srvname);
  end loop;
end $do$`
]

/** Takes over the main database's settings for all roles, which a copy does not have. */
export const settingsSql = (source: string, database: string) => `do $do$
declare
  setting text;
begin
  for setting in select unnest(setconfig) from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
                 where d.datname = ${quoteLiteral(source)} and s.setrole = 0 loop
    begin
      execute format('alter database %I set %I to %s', ${quoteLiteral(database)}, split_part(setting, '=', 1),
        case when split_part(setting, '=', 1) ~ '(search_path|_preload_libraries|temp_tablespaces)$'
          then nullif(substr(setting, strpos(setting, '=') + 1), '')
          else quote_literal(substr(setting, strpos(setting, '=') + 1)) end);
    exception when others then
      raise warning 'svc: failed to take over a setting of the database: % (%)', setting, sqlerrm;
    end;
  end loop;
end $do$`

/** Creates the roles of a branch. `own` is the password of the service's logins; the owner can't log in yet. */
export const rolesSql = ({ database, keysLogin, role, rowsLogin }: BranchNames, own: string): ReadonlyArray<string> => [
  `create role ${role} nologin noinherit`,
  `create role ${keysLogin} login noinherit password ${quoteLiteral(own)}`,
  `create role ${rowsLogin} login noinherit password ${quoteLiteral(own)}`,
  `grant ${role} to ${keysLogin}`,
  `grant anon, authenticated to ${rowsLogin}, ${role}`,
  `revoke all on database ${database} from public`,
  `grant all on database ${database} to ${role}`,
  `grant connect on database ${database} to ${keysLogin}, ${rowsLogin}`
]

/** Lets callers log in as the owner of a branch. */
export const openRoleSql = ({ role }: BranchNames, given: string) =>
  `alter role ${role} login password ${quoteLiteral(given)}`

/** Lets the branch's role bypass row-level security if the service role does, and the service's login may grant it. */
export const bypassSql = ({ role }: BranchNames, serviceRole: string) => `do $do$
begin
  if exists (select from pg_roles where rolname = ${quoteLiteral(serviceRole)} and (rolsuper or rolbypassrls)) then
    alter role ${role} bypassrls;
  end if;
exception when insufficient_privilege then null;
end $do$`

/** Runs in the copy: makes the branch's role own everything except objects of the system and of extensions. */
export const reownSql = ({ role }: BranchNames) => `do $do$
declare
  object record;
  done int := 0;
begin
  for object in
    select i.type, i.identity from (
      select 0 as step, 'pg_namespace'::regclass as class, oid as object from pg_namespace
        where nspname !~ '^pg_' and nspname <> 'information_schema'
      union all
      select 1, 'pg_class'::regclass, c.oid from pg_class c
        where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't'
           or c.relkind = 'S' and not exists (
                select from pg_depend d
                where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i'))
      union all select 2, 'pg_proc'::regclass, oid from pg_proc
      union all
      select 3, 'pg_type'::regclass, t.oid from pg_type t left join pg_class c on c.oid = t.typrelid
        where t.typtype in ('d', 'e', 'r') or t.typtype = 'c' and c.relkind = 'c'
           or t.typtype = 'b' and t.typelem = 0
      union all select 4, 'pg_operator'::regclass, oid from pg_operator
      union all select 5, 'pg_opfamily'::regclass, oid from pg_opfamily
      union all select 6, 'pg_opclass'::regclass, oid from pg_opclass
      union all select 7, 'pg_collation'::regclass, oid from pg_collation
      union all select 8, 'pg_conversion'::regclass, oid from pg_conversion
      union all select 9, 'pg_ts_dict'::regclass, oid from pg_ts_dict
      union all select 10, 'pg_ts_config'::regclass, oid from pg_ts_config
      union all select 11, 'pg_statistic_ext'::regclass, oid from pg_statistic_ext
      union all select 12, 'pg_foreign_server'::regclass, oid from pg_foreign_server
      union all select 13, 'pg_publication'::regclass, oid from pg_publication
      union all select 14, 'pg_largeobject'::regclass, oid from pg_largeobject_metadata
    ) o, pg_identify_object(o.class, o.object, 0) i
    -- Objects of initdb, such as the schema public, have smaller OIDs.
    where (o.object >= 16384 or o.step = 0)
      and not exists (
        select from pg_depend d where d.classid = o.class and d.objid = o.object and d.deptype = 'e')
    order by o.step, o.object
  loop
    begin
      execute format('alter %s %s owner to ${role}',
        case object.type
          when 'statistics object' then 'statistics'
          when 'foreign table' then 'foreign table'
          else object.type end, object.identity);
    exception when others then
      raise warning 'svc: failed to change the owner of % % of a branch: %', object.type, object.identity, sqlerrm;
    end;
    done := done + 1;
    -- Each object is locked until the commit, and the lock table is limited.
    if done % 100 = 0 then commit; end if;
  end loop;
end $do$`

/** Runs in the copy: gives the branch's role the default privileges that the service role has in the main database. */
export const defaultRightsSql = ({ role }: BranchNames, serviceRole: string) => `do $do$
declare
  closed text;
  given record;
begin
  -- PUBLIC may use functions and types unless that was revoked.
  for closed in
    select case d.defaclobjtype when 'f' then 'functions' else 'types' end from pg_default_acl d
    where d.defaclrole = (select oid from pg_roles where rolname = ${quoteLiteral(serviceRole)})
      and d.defaclnamespace = 0 and d.defaclobjtype in ('f', 'T')
      and not exists (select from aclexplode(d.defaclacl) a where a.grantee = 0)
  loop
    execute format('alter default privileges for role ${role} revoke all on %s from public', closed);
  end loop;
  for given in
    select d.defaclobjtype as kind, n.nspname, a.privilege_type as what, a.is_grantable,
           case when a.grantee = 0 then 'public' else a.grantee::regrole::text end as grantee,
           case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions'
             when 'T' then 'types' when 'n' then 'schemas' end as what_kind
    from pg_default_acl d left join pg_namespace n on n.oid = d.defaclnamespace, aclexplode(d.defaclacl) a
    where d.defaclrole = (select oid from pg_roles where rolname = ${quoteLiteral(serviceRole)})
      and a.grantee <> d.defaclrole
  loop
    continue when given.what_kind is null;
    execute format('alter default privileges for role ${role} %s grant %s on %s to %s %s',
      case when given.nspname is null then '' else format('in schema %I', given.nspname) end,
      given.what, given.what_kind, given.grantee,
      case when given.is_grantable then 'with grant option' else '' end);
  end loop;
end $do$`
