import { Client } from "pg"
import { type Login, pgConfig } from "../../../src/layers/postgres/Login.ts"

/** Contents of a database as sorted lists: by catalogue, and under `rows` a hash of each table. */
export type DatabaseContent = Readonly<Record<string, ReadonlyArray<string>>>

const acl = (column: string, kind: string, owner: string) => `(
  select string_agg(distinct concat_ws(' ', case grantee when 0 then 'public' else pg_get_userbyid(grantee)::text end,
    privilege_type, is_grantable), ', ')
  from aclexplode(coalesce(${column}, acldefault(${kind}, ${owner}))) where grantee <> ${owner})`

/** pg_dump sorts options. */
const sorted = (column: string) => `(select array_agg(o order by o) from unnest(${column}) o)`

const named = "n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and n.nspname <> all($1)"
/** Excludes members of extensions. */
const ours = (catalogue: string, oid: string) =>
  `not exists (select from pg_depend e where e.deptype = 'e' and e.classid = '${catalogue}'::regclass and e.objid = ${oid})`

/** `$1`: excluded schemas. Names are qualified, as search_path is empty. */
const catalogues: Readonly<Record<string, string>> = {
  schemas: `select nspname, obj_description(n.oid, 'pg_namespace'), ${acl("nspacl", "'n'", "nspowner")}
    from pg_namespace n where ${named}`,
  relations: `select c.oid::regclass, relkind, relpersistence, relrowsecurity, relforcerowsecurity, reloptions, relreplident,
      relispartition, relispopulated, pg_get_partkeydef(c.oid), pg_get_expr(relpartbound, c.oid), am.amname,
      (select array_agg(inhparent::regclass::text order by inhseqno) from pg_inherits where inhrelid = c.oid) as parents,
      obj_description(c.oid, 'pg_class') as said,
      ${acl("relacl", `case relkind when 'S' then 's' else 'r' end::"char"`, "relowner")}
    from pg_class c join pg_namespace n on n.oid = relnamespace left join pg_am am on am.oid = relam
    where relkind not in ('i', 'I', 't') and ${ours("pg_class", "c.oid")} and ${named}`,
  columns: `select c.oid::regclass, attname, row_number() over (partition by c.oid order by attnum) as place,
      format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, attstorage, attcompression, attstattarget, attislocal,
      attoptions, attfdwoptions, attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, attnum),
      case when attacl is not null then ${acl("attacl", "'c'", "relowner")} end
    from pg_attribute a join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = attnum
    where attnum > 0 and not attisdropped and relkind not in ('i', 'I', 't') and ${ours("pg_class", "c.oid")} and ${named}`,
  constraints: `select conname, contype, conrelid::regclass, contypid::regtype, condeferrable, condeferred, convalidated,
      conislocal, pg_get_constraintdef(k.oid), obj_description(k.oid, 'pg_constraint')
    from pg_constraint k join pg_namespace n on n.oid = connamespace where ${ours("pg_constraint", "k.oid")} and ${named}`,
  indexes: `select indexrelid::regclass, pg_get_indexdef(indexrelid), indisclustered, indisreplident, indisvalid, reloptions,
      (select array_agg(attstattarget order by attnum) from pg_attribute where attrelid = indexrelid),
      (select inhparent::regclass from pg_inherits where inhrelid = indexrelid) as part_of
    from pg_index join pg_class c on c.oid = indexrelid join pg_namespace n on n.oid = relnamespace where ${named}`,
  views: `select c.oid::regclass, pg_get_viewdef(c.oid) from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind in ('v', 'm') and ${ours("pg_class", "c.oid")} and ${named}`,
  routines: `select p.oid::regprocedure, prokind, case when prokind <> 'a' then pg_get_functiondef(p.oid) end, a.*,
      obj_description(p.oid, 'pg_proc'), ${acl("proacl", "'f'", "proowner")}
    from pg_proc p join pg_namespace n on n.oid = pronamespace
      left join lateral (select aggtransfn::regproc, aggfinalfn::regproc, aggtranstype::regtype, agginitval from pg_aggregate
        where aggfnoid = p.oid) a on true
    where ${ours("pg_proc", "p.oid")} and ${named}`,
  types: `select t.oid::regtype, typtype, typbasetype::regtype, typnotnull, typdefault, typcollation::regcollation,
      (select array_agg(enumlabel order by enumsortorder) from pg_enum where enumtypid = t.oid) as labels,
      (select concat_ws(' ', rngsubtype::regtype, rngmultitypid::regtype, rngcollation::regcollation, rngsubdiff)
       from pg_range where rngtypid = t.oid) as range, obj_description(t.oid, 'pg_type'),
      case when typtype <> 'm' and typelem = 0 then ${acl("typacl", "'T'", "typowner")} end
    from pg_type t join pg_namespace n on n.oid = typnamespace where ${ours("pg_type", "t.oid")} and ${named}`,
  sequences: `select c.oid::regclass, s.*, q.last_value from pg_class c join pg_namespace n on n.oid = relnamespace
      join lateral (select seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle from pg_sequence
        where seqrelid = c.oid) s on true
      join pg_sequences q on q.schemaname = nspname and q.sequencename = relname
    where ${named}`,
  sequencesOwned: `select d.objid::regclass, refobjid::regclass, refobjsubid <> 0, d.deptype from pg_depend d
      join pg_class c on c.oid = objid join pg_namespace n on n.oid = relnamespace
    where relkind = 'S' and d.deptype in ('a', 'i') and d.refclassid = 'pg_class'::regclass and ${named}`,
  triggers: `select tgrelid::regclass, tgname, tgenabled, pg_get_triggerdef(t.oid), tgparentid <> 0, obj_description(t.oid, 'pg_trigger')
    from pg_trigger t join pg_class c on c.oid = tgrelid join pg_namespace n on n.oid = relnamespace
    where not tgisinternal and ${named}`,
  eventTriggers: `select evtname, evtevent, evtenabled, evttags, evtfoid::regproc from pg_event_trigger
      join pg_proc p on p.oid = evtfoid join pg_namespace n on n.oid = pronamespace where ${named}`,
  policies: "select p.* from pg_policies p join pg_namespace n on n.nspname = schemaname where " + named,
  rules: `select ev_class::regclass, rulename, ev_enabled, pg_get_ruledef(r.oid) from pg_rewrite r join pg_class c on c.oid = ev_class
      join pg_namespace n on n.oid = relnamespace where ${ours("pg_class", "c.oid")} and ${named}`,
  operators: `select o.oid::regoperator, oprcode::regproc, oprcom::regoperator, oprnegate::regoperator, oprcanmerge, oprcanhash
    from pg_operator o join pg_namespace n on n.oid = oprnamespace where ${ours("pg_operator", "o.oid")} and ${named}`,
  casts: `select castsource::regtype, casttarget::regtype, castfunc::regprocedure, castcontext, castmethod from pg_cast k
    where k.oid >= 16384 and ${ours("pg_cast", "k.oid")} and $1 is not null`,
  collations: `select collname, collprovider, collcollate, collisdeterministic, colllocale
    from pg_collation c join pg_namespace n on n.oid = collnamespace where ${named}`,
  textSearch: `select c.oid::regconfig, m.maptokentype, m.mapseqno, m.mapdict::regdictionary, dictinitoption
    from pg_ts_config c join pg_namespace n on n.oid = cfgnamespace join pg_ts_config_map m on m.mapcfg = c.oid
      join pg_ts_dict d on d.oid = m.mapdict where ${named}`,
  statistics: `select pg_get_statisticsobjdef(s.oid), stxstattarget from pg_statistic_ext s
      join pg_namespace n on n.oid = stxnamespace where ${named}`,
  extensions: `select extname, extversion, extnamespace::regnamespace, obj_description(oid, 'pg_extension') from pg_extension
    where $1 is not null`,
  servers: `select srvname, srvtype, srvversion, ${sorted("srvoptions")} from pg_foreign_server where $1 is not null`,
  userMappings: `select srvname, usename, ${sorted("umoptions")} from pg_user_mappings where $1 is not null`,
  foreignTables: `select ftrelid::regclass, srvname, ${sorted("ftoptions")} from pg_foreign_table join pg_foreign_server s on s.oid = ftserver
    where $1 is not null`,
  defaultRights: `select n.nspname, defaclobjtype, ${acl("defaclacl", "defaclobjtype", "defaclrole")}
    from pg_default_acl left join pg_namespace n on n.oid = defaclnamespace where n.oid is null or (${named})`,
  publications: `select p.pubname, puballtables, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot, t.schemaname, t.tablename,
      t.attnames, t.rowfilter from pg_publication p left join pg_publication_tables t on t.pubname = p.pubname
      left join pg_namespace n on n.nspname = t.schemaname where n.oid is null or (${named})`,
  largeObjects: `select oid, length(lo_get(oid)), md5(lo_get(oid)), obj_description(oid, 'pg_largeobject'),
      ${acl("lomacl", "'L'", "lomowner")} from pg_largeobject_metadata where $1 is not null`
}

const tables = `select c.oid::regclass::text as name, relkind from pg_class c join pg_namespace n on n.oid = relnamespace
  where relkind in ('r', 'm') and relispopulated and ${named} order by 1`

/** One hash over the rows in any order; `only` excludes inheriting tables. */
const rowsOf = (
  name: string
) => `select count(*)::text || ' ' || coalesce(md5(string_agg(hash, '' order by hash)), '') as rows
  from (select md5(t::text) as hash from only ${name} t) h`

/**
 * The comparable contents of a database: everything except owners, their own privileges, grantors and OIDs.
 * @param without excluded schemas
 */
export const databaseContent = async (login: Login, without: ReadonlyArray<string> = []): Promise<DatabaseContent> => {
  const client = new Client(pgConfig(login, { search_path: "" }))
  await client.connect()
  try {
    await client.query(
      "set extra_float_digits = 3; set timezone = 'UTC'; set intervalstyle = 'postgres'; set bytea_output = 'hex'"
    )
    const content: Record<string, ReadonlyArray<string>> = {}
    for (const [what, text] of Object.entries(catalogues)) {
      const { rows } = await client.query<{ line: string }>(
        `select to_json(array(select value from json_each_text(to_json(q))))::text as line
         from (${text.replaceAll("$1", "$1::text[]")}) q`,
        [without]
      )
      content[what] = rows.map(({ line }) => line).sort()
    }
    const found = await client.query<{ name: string }>(tables.replaceAll("$1", "$1::text[]"), [without])
    const hashes: Array<string> = []
    for (const { name } of found.rows) {
      hashes.push(`${name} ${(await client.query<{ rows: string }>(rowsOf(name))).rows[0]?.rows}`)
    }
    content["rows"] = hashes
    return content
  } finally {
    await client.end()
  }
}
