/**
 * Schema `svc_ddl`, which counts the transactions that changed the catalogue: `ddlEpochSql` returns the count. A database
 * in which these statements have run keeps them, so a change needs a migration that runs them again.
 *
 * A transaction is recorded once, however many statements it has. Under SERIALIZABLE every statement is recorded, because
 * the check would be a read that conflicts with concurrent DDL. `age` rules out rows that a restore brought from another
 * server. With more than 16 rows, those that no other transaction is replacing become one; the sum never decreases.
 *
 * Temporary objects are not recorded, nor statements that change no definition: functions of any caller create temporary
 * tables. A dropped object is known to `sql_drop` only, which PostgreSQL fires before `ddl_command_end`, except that DROP
 * OWNED may only revoke privileges.
 */
export const ddlSql: ReadonlyArray<string> = [
  "create schema if not exists svc_ddl",
  "revoke all on schema svc_ddl from public",
  "grant usage on schema svc_ddl to public",
  "create table if not exists svc_ddl.changes (n bigint not null, xact xid8 not null default pg_catalog.pg_current_xact_id())",
  "revoke all on svc_ddl.changes from public",
  "grant select on svc_ddl.changes to public",
  "create table if not exists svc_ddl.fingerprint (value text not null)",
  "revoke all on svc_ddl.fingerprint from public",
  "insert into svc_ddl.fingerprint select '' where not exists (select from svc_ddl.fingerprint)",
  `create or replace function svc_ddl.record() returns event_trigger language plpgsql security definer
     set search_path = pg_catalog, pg_temp as $$
   declare
     isolation constant text := current_setting('transaction_isolation');
     relevant boolean := true;
   begin
     if tg_tag in ('REINDEX', 'REFRESH MATERIALIZED VIEW') or current_setting('transaction_read_only')::boolean then
       return;
     end if;
     begin
       if tg_event = 'sql_drop' then
         relevant := exists (
           select from pg_event_trigger_dropped_objects() d
           where not d.is_temporary and not (cardinality(d.address_names) > 1 and d.address_names[1] = 'pg_temp'));
       elsif tg_tag ~ '^DROP ' and tg_tag <> 'DROP OWNED' then
         relevant := false;
       else
         select coalesce(
             bool_or(c.schema_name is distinct from 'pg_temp'
                     and (a.names is null or cardinality(a.names) < 2 or a.names[1] <> 'pg_temp')),
             tg_tag not in ('CREATE TABLE', 'CREATE TABLE AS', 'CREATE SEQUENCE', 'CREATE INDEX'))
           into relevant
           from pg_event_trigger_ddl_commands() c
             left join lateral pg_identify_object_as_address(c.classid, c.objid, c.objsubid) a (type, names, args) on true;
       end if;
     exception when others then
       relevant := true;
     end;
     if not relevant then return; end if;
     -- A transaction that has notified can't be prepared. Where that is possible, the service finds the change by itself.
     if current_setting('max_prepared_transactions') = '0' then perform pg_notify('svc_ddl', tg_tag); end if;
     if isolation <> 'serializable' and exists (
       select from svc_ddl.changes c
       where c.xact = pg_current_xact_id() and age(c.xmin) <= age(pg_current_xact_id()::xid)
     ) then
       return;
     end if;
     insert into svc_ddl.changes (n) values (1);
     if isolation = 'read committed' and (select count(*) from svc_ddl.changes) > 16 then
       with old as (
         delete from svc_ddl.changes
         where ctid = any (array(select c.ctid from svc_ddl.changes c for update skip locked))
         returning n
       )
       insert into svc_ddl.changes (n) select sum(n) from old;
     end if;
   end $$`,
  "revoke all on function svc_ddl.record() from public"
]

/**
 * Runs after `ddlSql`: revokes what default privileges of the database have granted on its objects. `record` runs as
 * their owner, and would run a trigger of any role that may create one on its table.
 */
export const ddlRightsSql = `do $do$
declare
  given record;
begin
  for given in
    select distinct c.oid::regclass as object, a.grantee::regrole as grantee from pg_class c, aclexplode(c.relacl) a
    where c.relnamespace = 'svc_ddl'::regnamespace and a.grantee not in (0, c.relowner)
  loop
    execute format('revoke all on %s from %s', given.object, given.grantee);
  end loop;
end $do$`

/** The count as a scalar subquery: the epoch of the catalogue. Without a cast to text, which a superuser may have redefined. */
export const ddlEpochSql = "(select coalesce(pg_catalog.sum(n), 0) from svc_ddl.changes)"

/**
 * A superuser runs these after `ddlSql`. The triggers are always enabled, because replicated and restored DDL is DDL
 * too.
 */
export const ddlTriggersSql: ReadonlyArray<string> = ["ddl_command_end", "sql_drop"].flatMap((event) => {
  const name = event === "sql_drop" ? "svc_ddl_drop" : "svc_ddl"
  return [
    `drop event trigger if exists ${name}`,
    `create event trigger ${name} on ${event} execute function svc_ddl.record()`,
    `alter event trigger ${name} enable always`
  ]
})

/** Whether PostgreSQL reports all DDL of this database, except that of a superuser who switches that off. */
export const ddlWatchedSql = `(select pg_catalog.count(*) = 2 from pg_catalog.pg_event_trigger t
    where t.evtname in ('svc_ddl', 'svc_ddl_drop') and t.evtenabled = 'A'
      and t.evtfoid = pg_catalog.to_regprocedure('svc_ddl.record()'))
  and pg_catalog.current_setting('event_triggers', true) is distinct from 'off'`
