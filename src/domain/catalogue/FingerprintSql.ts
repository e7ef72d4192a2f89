/**
 * Catalogues whose rows decide what a statement does, each with the column that names the relation, or the schema, to
 * which a row belongs. Rows of temporary objects are left out.
 */
const byRelation = {
  pg_attribute: "attrelid",
  pg_attrdef: "adrelid",
  pg_policy: "polrelid",
  pg_trigger: "tgrelid",
  pg_rewrite: "ev_class",
  pg_inherits: "inhrelid",
  pg_statistic_ext: "stxrelid",
  pg_partitioned_table: "partrelid"
}
const bySchema = {
  pg_constraint: "connamespace",
  pg_proc: "pronamespace",
  pg_type: "typnamespace",
  pg_operator: "oprnamespace",
  pg_opclass: "opcnamespace",
  pg_opfamily: "opfnamespace",
  pg_collation: "collnamespace"
}
const others = [
  "pg_cast",
  "pg_amop",
  "pg_amproc",
  "pg_aggregate",
  "pg_range",
  "pg_enum",
  "pg_language",
  "pg_transform",
  "pg_event_trigger",
  "pg_auth_members",
  "pg_db_role_setting"
]

const sumOf = (catalogue: string, where: string) =>
  `select '${catalogue}' as name, pg_catalog.count(*) as n, pg_catalog.sum(xmin::text::bigint) as total from pg_catalog.${catalogue} where ${where}`

/**
 * A text that differs when definitions differ. A changed row has a later transaction id, so count and sum of the ids
 * can't both stay the same. TRUNCATE, REFRESH and VACUUM FULL replace rows of pg_class without a change of definitions, so
 * of those the columns are hashed, and of pg_index only expressions count.
 */
export const fingerprintSql = `with temporary as materialized (
    select oid from pg_catalog.pg_namespace where nspname ~ '^pg_(toast_)?temp_'
  ), relations as materialized (
    select c.* from pg_catalog.pg_class c
    where c.relkind in ('r', 'p', 'v', 'm', 'f', 'c') and c.relnamespace not in (select oid from temporary)
  )
  select pg_catalog.hashtextextended(pg_catalog.string_agg(pg_catalog.concat_ws(' ', name, n, coalesce(total, 0)), ',' order by name), 0)::text
    || coalesce(pg_catalog.current_setting('event_triggers', true), '') as value from (
    select 'pg_class' as name, pg_catalog.count(*) as n, pg_catalog.sum(pg_catalog.hashtextextended(pg_catalog.concat_ws(' ', c.oid, c.relname, c.relnamespace,
      c.relowner, c.relkind, c.relam, c.relrowsecurity, c.relforcerowsecurity, c.relchecks,
      c.relispartition, c.reloptions, c.relacl), 0)) as total from relations c
    union all
    select 'pg_index', pg_catalog.count(*), pg_catalog.sum(i.xmin::text::bigint) from pg_catalog.pg_index i
      where (i.indexprs is not null or i.indpred is not null) and i.indrelid in (select oid from relations)
    union all
    ${sumOf("pg_namespace", "oid not in (select oid from temporary)")}
    ${Object.entries(byRelation)
      .map(([name, column]) => `union all ${sumOf(name, `${column} in (select oid from relations)`)}`)
      .join("\n    ")}
    ${Object.entries(bySchema)
      .map(([name, column]) => `union all ${sumOf(name, `${column} not in (select oid from temporary)`)}`)
      .join("\n    ")}
    ${others.map((name) => `union all ${sumOf(name, "true")}`).join("\n    ")}
  ) all_catalogues`

/**
 * Records a change in `svc_ddl.changes` if the fingerprint is not the stored one, and notifies. It can't determine whether the
 * event triggers have recorded the same change, so most changes are recorded twice. `millis` is the time that the server took.
 */
export const recordUnreportedSql = `with now as materialized (${fingerprintSql}),
  changed as (update svc_ddl.fingerprint f set value = now.value from now where f.value <> now.value returning 1),
  recorded as (insert into svc_ddl.changes (n) select 1 from changed returning 1)
  select n > 0 as recorded, extract(epoch from clock_timestamp() - statement_timestamp())::float8 * 1000 as millis
  from (select pg_catalog.count(pg_notify('svc_ddl', 'fingerprint')) as n from recorded) r`
