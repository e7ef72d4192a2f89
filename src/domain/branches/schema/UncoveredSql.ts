/**
 * Catalogues whose objects are compared, or are parts of those. Objects in any other one are listed, whatever a later version
 * of PostgreSQL adds.
 */
const covered = [
  "pg_amop",
  "pg_amproc",
  "pg_attrdef",
  "pg_class",
  "pg_collation",
  "pg_constraint",
  "pg_default_acl",
  "pg_enum",
  "pg_event_trigger",
  "pg_extension",
  "pg_foreign_data_wrapper",
  "pg_foreign_server",
  "pg_namespace",
  "pg_policy",
  "pg_proc",
  "pg_publication",
  "pg_publication_namespace",
  "pg_publication_rel",
  "pg_rewrite",
  "pg_trigger",
  "pg_type"
]
/** What belongs to the server, is data, or is in no branch. */
const elsewhere = ["pg_largeobject_metadata", "pg_subscription", "pg_user_mapping"]

/** Selects the names of the catalogues of this server whose objects have no statements. */
export const otherCataloguesSql = `select c.relname::text as name
  from pg_catalog.pg_class c
  where c.relnamespace = 'pg_catalog'::pg_catalog.regnamespace and c.relkind = 'r' and not c.relisshared
    and c.relname <> all ('{${[...covered, ...elsewhere].join(",")}}'::name[])
    and exists (select from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attname = 'oid')
  order by 1`

/** Selects the columns that are computed when they are read, which the library takes for stored ones. */
export const virtualColumnsSql = `select n.nspname::text as schema, c.relname::text as table, a.attname::text as name
  from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where a.attgenerated = 'v' and not a.attisdropped`

export const columnOrder = "order of the columns"
export const extensionVersion = "version of the extension"

/** Objects of initdb have smaller OIDs. */
const firstOfUsers = 16_384

const isPart = (catalogue: string, oid: string) => `exists (
    select from pg_catalog.pg_depend d
    where d.classid = 'pg_catalog.${catalogue}'::pg_catalog.regclass and d.objid = ${oid} and d.deptype in ('e', 'i'))`

/** Properties of compared objects for which the library has no statements: kind, name of the object, value; '' is the default. */
const properties: ReadonlyArray<string> = [
  `select '${columnOrder}', format('%I.%I', n.nspname, c.relname),
     (select json_agg(a.attname order by a.attnum)::text from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
   from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p', 'f', 'c') and not c.relispartition`,
  `select 'storage of the column', format('%I.%I.%I', n.nspname, c.relname, a.attname),
     concat_ws(' ', case when a.attstorage <> t.typstorage then a.attstorage end, nullif(a.attcompression, ''),
       'statistics ' || nullif(coalesce(a.attstattarget, -1), -1)::text, a.attoptions::text)
   from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     join pg_type t on t.oid = a.atttypid
   where c.relkind in ('r', 'p', 'f', 'm', 'i', 'I') and a.attnum > 0 and not a.attisdropped`,
  `select 'place of the table', format('%I.%I', n.nspname, c.relname),
     concat_ws(' ', 'tablespace ' || s.spcname::text, 'using ' || nullif(m.amname, 'heap')::text, 'of ' || nullif(c.reloftype, 0)::regtype::text,
       toast.reloptions::text)
   from pg_class c join pg_namespace n on n.oid = c.relnamespace
     left join pg_tablespace s on s.oid = c.reltablespace left join pg_am m on m.oid = c.relam and c.relkind in ('r', 'm', 'p')
     left join pg_class toast on toast.oid = c.reltoastrelid
   where c.relkind in ('r', 'p', 'm', 'i', 'I')`,
  `select 'grants on the sequence of an identity column', format('%I.%I', n.nspname, c.relname),
     (select string_agg(concat_ws(' ', a.privilege_type, 'to', coalesce(r.rolname, 'public')), ', ' order by a.privilege_type, r.rolname)
      from aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee where a.grantee <> c.relowner)
   from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where c.relkind = 'S' and exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i')`,
  `select 'persistence of the sequence', format('%I.%I', n.nspname, c.relname), 'unlogged'
   from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'S' and c.relpersistence = 'u'`,
  `select 'CLUSTER', format('%I.%I', n.nspname, c.relname), 'on'
   from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace where i.indisclustered`,
  `select 'not-null constraint', format('%I.%I.%I', n.nspname, c.relname, a.attname),
     concat_ws(' ', nullif(k.conname, concat(c.relname, '_', a.attname, '_not_null')), case when not a.attislocal then 'its own' end,
       case when k.connoinherit then 'no inherit' end, case when not k.convalidated then 'not valid' end,
       obj_description(k.oid, 'pg_constraint'))
   from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
     join pg_attribute a on a.attrelid = c.oid and a.attnum = k.conkey[1]
   where k.contype = 'n' and k.conislocal`,
  `select 'inherited column', format('%I.%I.%I', n.nspname, c.relname, a.attname),
     concat_ws(', ', 'default ' || nullif(pg_get_expr(d.adbin, d.adrelid), pg_get_expr(up.adbin, up.adrelid)),
       'comment ' || col_description(c.oid, a.attnum),
       (select string_agg(concat_ws(' ', g.privilege_type, 'to', coalesce(r.rolname, 'public')), ', ' order by g.privilege_type, r.rolname)
        from aclexplode(a.attacl) g left join pg_roles r on r.oid = g.grantee where g.grantee <> c.relowner))
   from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     left join lateral (
       select ud.adbin, ud.adrelid from pg_inherits i join pg_attribute ua on ua.attrelid = i.inhparent and ua.attname = a.attname
         join pg_attrdef ud on ud.adrelid = ua.attrelid and ud.adnum = ua.attnum
       where i.inhrelid = c.oid order by i.inhseqno limit 1) up on true
   where c.relkind in ('r', 'p', 'f') and a.attnum > 0 and not a.attisdropped and not a.attislocal`,
  `select 'base type', format('%I.%I', n.nspname, t.typname), 'defined'
   from pg_type t join pg_namespace n on n.oid = t.typnamespace
   where t.typtype in ('b', 'p') and t.typelem = 0 and t.oid >= ${firstOfUsers} and not ${isPart("pg_type", "t.oid")}`,
  `select 'window function', p.oid::regprocedure::text, 'defined'
   from pg_proc p where p.prokind = 'w' and p.oid >= ${firstOfUsers} and not ${isPart("pg_proc", "p.oid")}`,
  `select '${extensionVersion}', format('%I', e.extname), e.extversion from pg_extension e`
]

/** What belongs to an object, in catalogues of parts. */
const partsOf: Readonly<Record<string, string>> = {
  pg_ts_config: `(select string_agg(concat_ws(' ', m.maptokentype, m.mapseqno, m.mapdict::regdictionary), ',' order by 1)
      from pg_ts_config_map m where m.mapcfg = o.oid)`,
  pg_opfamily: `(select string_agg(part, ',' order by part) from (
      select concat_ws(' ', a.amopstrategy, a.amopopr::regoperator, a.amoppurpose) from pg_amop a where a.amopfamily = o.oid
      union all select concat_ws(' ', a.amprocnum, a.amproc::regprocedure) from pg_amproc a where a.amprocfamily = o.oid) p (part))`
}

/** Rows of such a catalogue: the value is the same if the row is, but a row of another database names other OIDs. */
const objectsOf = (catalogue: string) => `select i.type, i.identity, (
      select md5(string_agg(concat_ws(' ', e.key, e.value), E'\\n' order by e.key)) from json_each_text(to_json(o)) e
      where e.key <> 'oid' and e.key !~ '(owner|acl)$') || coalesce(${partsOf[catalogue] ?? "''"}, ''), false
   from pg_catalog.${catalogue} o, pg_catalog.pg_identify_object('pg_catalog.${catalogue}'::pg_catalog.regclass, o.oid, 0) i
   where o.oid >= ${firstOfUsers} and not ${isPart(catalogue, "o.oid")}`

/** Selects what is not covered by statements: `kind`, `object`, `value`, and whether that is to be shown. For names from `otherCataloguesSql`. */
export const uncoveredSql = (catalogues: ReadonlyArray<string>) => `select kind, object, value, shown from (
  ${[...properties.map((text) => `select *, true from (${text}) p`), ...catalogues.map(objectsOf)].join("\n  union all\n  ")}
) as found (kind, object, value, shown)
where object !~ '^"?(pg_catalog|pg_toast|information_schema|svc|svc_ddl|auth|storage|realtime|pgmq|pgmq_public|cron|pooler)"?[.]'
  and value is not null
order by 1, 2`
