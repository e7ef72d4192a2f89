import { words } from "../catalogue/bodies/Tree.ts"
import { quoteLiteral } from "../sql/Names.ts"

/** Volatile functions of PostgreSQL that only read or compute. */
const harmless = words(`
  random random_normal clock_timestamp timeofday gen_random_uuid uuidv4 uuidv7 array_shuffle array_sample
  pg_relation_size pg_total_relation_size pg_table_size pg_indexes_size pg_database_size`)

/**
 * Names of what has secrets: the service's own tables, password hashes and passwords of other servers, and samples of the
 * values of all tables.
 */
export const secretNames = words(`
  svc svc_ddl pg_authid pg_shadow pg_user_mapping pg_user_mappings user_mapping_options pg_subscription
  pg_statistic pg_stats pg_statistic_ext_data pg_stats_ext pg_stats_ext_exprs`)

/**
 * Of names that a statement calls ($1) and reads as attributes ($2), those of volatile functions, as a JSON array.
 * PostgreSQL's own that leave the transaction or wait (`set_config`, `pg_sleep`, `pg_advisory_lock`, `lo_export`,
 * `query_to_xml`, `pg_terminate_backend`) and those of dblink are all volatile. So is,
 * by this rule, what reads a table that a text names (`table_to_xml`).
 */
export const volatileSql = `
select coalesce(json_agg(distinct p.proname order by p.proname), '[]')::text
from pg_catalog.pg_proc p
where (p.provolatile = 'v' or p.proname ~ '^(table|schema|database)_to_xml')
  and not (p.pronamespace = 'pg_catalog'::regnamespace and p.proname in (${Array.from(harmless, quoteLiteral).join(", ")}))
  and (p.proname = any ($1::name[])
    or p.proname = any ($2::name[]) and exists (
      select from pg_catalog.pg_type t where t.oid = p.proargtypes[0] and t.typtype in ('c', 'p')))`
