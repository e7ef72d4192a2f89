import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { root } from "../service.ts"

/** Words of the source before a parenthesis: PostgreSQL's functions that the service calls are among them. */
const calledNames = async () => {
  const names = new Set<string>()
  for (const file of await readdir(join(root, "src"), { recursive: true })) {
    if (!file.endsWith(".ts")) continue
    const text = await readFile(join(root, "src", file), "utf8")
    for (const [, name] of text.matchAll(/\b([a-z][a-z0-9_]+)\(/g)) names.add(name as string)
  }
  return [...names]
}

/**
 * SQL that creates overloads in schema `public` of every function, aggregate and operator of PostgreSQL that the service
 * may call, with arguments that fit unknown literals better. When a superuser runs one, `spy.privileged` advances, also if
 * the transaction is rolled back; `spy.log` names the function.
 */
export const overloadsSql = async () => `
create schema spy;
grant usage on schema spy to public;
create sequence spy.privileged;
create table spy.log (who text, called text, query text);
grant all on all tables in schema spy to public;
grant all on all sequences in schema spy to public;
create function spy.tell(called text) returns void language plpgsql as $spy$
begin
  if (select r.rolsuper from pg_catalog.pg_roles r where r.rolname operator(pg_catalog.=) current_user) then
    perform pg_catalog.nextval('spy.privileged');
    insert into spy.log values (current_user, called, pg_catalog.current_query());
  end if;
end $spy$;
create function spy.note(text, anyelement) returns text language plpgsql as 'begin perform spy.tell(''an aggregate''); return null; end';
create function spy.note_record(text, record) returns text language plpgsql as 'begin perform spy.tell(''an aggregate''); return null; end';
set search_path = pg_catalog;
do $do$
declare
  called constant text[] := '{${(await calledNames()).join(",")}}';
  item record;
  made int := 0;
begin
  for item in
    select distinct p.proname, v.args, p.proretset,
      case when t.typtype = 'p' and t.typname <> 'void' then 'text' else t.oid::regtype::text end as result
    from pg_proc p join pg_type t on t.oid = p.prorettype,
      lateral (
        select string_agg(case when ty.oid in ('name'::regtype, 'char'::regtype, 'regclass'::regtype) or ty.typtype = 'p' then 'text' else ty.oid::regtype::text end, ',' order by n)
          from unnest(p.proargtypes) with ordinality a (oid, n) join pg_type ty on ty.oid = a.oid
        union select rtrim(repeat('text,', p.pronargs), ',')
        union select 'text,' || rtrim(repeat('oid,', p.pronargs - 1), ',') where p.pronargs > 1
        union select 'text,oid,text' where p.pronargs = 3
        union select 'text,name' where p.pronargs = 2
        union select 'varchar,text' where p.pronargs = 2
      ) v (args)
    where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and p.proname = any (called)
      and p.pronargs between 1 and 4 and v.args is not null
      and t.typname not in ('trigger', 'event_trigger', 'internal', 'cstring', 'language_handler')
  loop
    begin
      execute format('create function public.%I(%s) returns %s %s language plpgsql as %L', item.proname, item.args,
        case when item.proretset then 'setof' else '' end, item.result,
        format('begin perform spy.tell(%L); return%s; end', item.proname || '(' || item.args || ')',
          case when item.proretset or item.result = 'void' then '' else ' null' end));
      made := made + 1;
    exception when duplicate_function or syntax_error then null;
    end;
  end loop;
  for item in
    select distinct p.proname, v.arg from pg_proc p, unnest('{text,json,oid,record}'::text[]) v (arg)
    where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'a' and p.proname = any (called) and p.pronargs = 1
  loop
    execute format('create aggregate public.%I(%s) (sfunc = spy.%s, stype = text)', item.proname, item.arg,
      case item.arg when 'record' then 'note_record' else 'note' end);
    made := made + 1;
  end loop;
  for item in
    select o.name, l.type as left, r.type as right
    from unnest('{=,<>,||,~}'::text[]) o (name), unnest('{text,name,oid,varchar,regclass}'::text[]) l (type),
      unnest('{text,name,oid,varchar,regclass}'::text[]) r (type)
    where not exists (
      select from pg_operator p where p.oprname = o.name and p.oprleft = l.type::regtype and p.oprright = r.type::regtype)
  loop
    execute format('create function public.%I(%s, %s) returns boolean language plpgsql as %L',
      'operator_' || item.name, item.left, item.right, format('begin perform spy.tell(%L); return true; end', item.name));
    execute format('create operator public.%s (leftarg = %s, rightarg = %s, function = public.%I)', item.name, item.left,
      item.right, 'operator_' || item.name);
    made := made + 1;
  end loop;
  if made < 300 then raise 'only % overloads', made; end if;
end $do$;
reset search_path;`
