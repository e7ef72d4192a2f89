/** Objects that no extension brings. */
const own = (catalogue: string, oid: string) => `${oid} >= 16384 and not exists (
    select from pg_depend d where d.deptype = 'e' and d.classid = '${catalogue}'::regclass and d.objid = ${oid})`

const fails = "a restore fails: only a superuser may create it"

/**
 * Lists what a restore into a branch, with the rights of the branch's role, lacks or fails for: a `warning` for each
 * object. It must agree with src/layers/dumps.
 */
export const backupWarningsSql = `
  select warning from (
    select 1 as step, format('function %s in the language %s: ${fails}', p.oid::regprocedure, l.lanname) as warning
    from pg_proc p join pg_language l on l.oid = p.prolang where not l.lanpltrusted and ${own("pg_proc", "p.oid")}
    union all
    select 1, format('function %s is LEAKPROOF: ${fails}', p.oid::regprocedure) from pg_proc p
    where p.proleakproof and ${own("pg_proc", "p.oid")}
    union all
    select 1, format('function %s has a support function: ${fails}', p.oid::regprocedure) from pg_proc p
    where p.prosupport <> 0 and ${own("pg_proc", "p.oid")}
    union all
    select 1, format('base type %s: ${fails}', t.oid::regtype) from pg_type t
    where t.typtype = 'b' and t.typcategory <> 'A' and ${own("pg_type", "t.oid")}
    union all
    select 1, format('operator class %I.%I: ${fails}', n.nspname, o.opcname)
    from pg_opclass o join pg_namespace n on n.oid = o.opcnamespace where ${own("pg_opclass", "o.oid")}
    union all
    select 1, format('operator family %I.%I: ${fails}', n.nspname, o.opfname)
    from pg_opfamily o join pg_namespace n on n.oid = o.opfnamespace where ${own("pg_opfamily", "o.oid")}
    union all
    select 1, format('access method %I: ${fails}', a.amname) from pg_am a where ${own("pg_am", "a.oid")}
    union all
    select 1, format('language %I: ${fails}', l.lanname) from pg_language l where ${own("pg_language", "l.oid")}
    union all
    select 1, format('foreign-data wrapper %I: ${fails}', w.fdwname) from pg_foreign_data_wrapper w
    where ${own("pg_foreign_data_wrapper", "w.oid")}
    union all
    select 1, format('text search template %s: ${fails}', t.tmplname) from pg_ts_template t
    where ${own("pg_ts_template", "t.oid")}
    union all
    select 1, format('text search parser %s: ${fails}', p.prsname) from pg_ts_parser p where ${own("pg_ts_parser", "p.oid")}
    union all
    select 1, format('cast from %s to %s without a function: ${fails}', c.castsource::regtype, c.casttarget::regtype)
    from pg_cast c where c.castmethod = 'b' and ${own("pg_cast", "c.oid")}
    union all
    select 2, format('subscription %I is not restored: it would use the slot of this one', s.subname)
    from pg_subscription s join pg_database d on d.oid = s.subdbid where d.datname = current_database()
    union all
    select 3, format('event trigger %I is not restored: %s', e.evtname,
      case e.evtevent when 'login' then 'the service logs in, too' else 'that takes a superuser and PostgreSQL 17' end)
    from pg_event_trigger e, pg_roles me
    where me.rolname = current_user and e.evtname not in ('svc_ddl', 'svc_ddl_drop') and ${own("pg_event_trigger", "e.oid")}
      and (e.evtevent = 'login' or not me.rolsuper or current_setting('server_version_num')::int < 170000)
  ) w order by step, warning limit 50`
