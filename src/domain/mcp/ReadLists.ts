import { words } from "../catalogue/bodies/Names.ts"
import { quoteLiteral } from "../sql/Names.ts"

/**
 * PostgreSQL's functions that are not immutable and that read nothing but the rows that the statement names, the clock and
 * the definitions of objects. Those that are missing read files, settings or other sessions, run queries from texts, wait,
 * lock, signal or write.
 */
const allowedFunctions: ReadonlySet<string> = words(`
  age aclexplode array_to_json array_to_string array_sample array_shuffle clock_timestamp col_description concat concat_ws convert
  convert_from convert_to current_database current_schema current_schemas current_user date date_add date_part date_subtract date_trunc
  enum_first enum_last enum_range extract format format_type gen_random_uuid generate_series has_any_column_privilege has_column_privilege
  has_database_privilege has_function_privilege has_schema_privilege has_sequence_privilege has_table_privilege has_type_privilege
  in_range json_agg json_agg_strict json_build_array json_build_object json_object_agg json_object_agg_strict json_object_agg_unique
  json_object_agg_unique_strict json_populate_record json_populate_recordset json_to_record json_to_recordset json_to_tsvector
  jsonb_agg jsonb_agg_strict jsonb_build_array jsonb_build_object jsonb_object_agg jsonb_object_agg_strict jsonb_object_agg_unique
  jsonb_object_agg_unique_strict jsonb_path_exists_tz jsonb_path_match_tz jsonb_path_query_array_tz jsonb_path_query_first_tz
  jsonb_path_query_tz jsonb_populate_record jsonb_populate_recordset jsonb_to_record jsonb_to_recordset jsonb_to_tsvector length
  make_timestamptz money now numeric obj_description overlaps pg_collation_for pg_column_compression pg_column_size
  pg_database_size pg_describe_object pg_encoding_to_char pg_function_is_visible pg_get_constraintdef pg_get_expr
  pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result pg_get_functiondef pg_get_indexdef
  pg_get_partition_constraintdef pg_get_partkeydef pg_get_ruledef pg_get_serial_sequence pg_get_statisticsobjdef pg_get_userbyid
  pg_get_viewdef pg_has_role pg_indexes_size pg_relation_size pg_table_is_visible pg_table_size pg_total_relation_size
  pg_type_is_visible pg_typeof phraseto_tsquery plainto_tsquery quote_literal quote_nullable random random_normal regclass
  row_security_active row_to_json session_user statement_timestamp text time timeofday timestamp timestamptz timetz timezone to_char
  to_date to_json to_jsonb to_number to_regclass to_regnamespace to_regproc to_regprocedure to_regrole to_regtype to_timestamp
  to_tsquery to_tsvector transaction_timestamp ts_debug ts_headline uuidv4 uuidv7 version websearch_to_tsquery xml
  xml_is_well_formed`)

/**
 * PostgreSQL's own relations that describe tables, columns, indexes, functions and how they are used. Those that are missing
 * have passwords, settings, options of servers, samples of values, arguments of triggers or the statements of other sessions.
 */
export const catalogueRelations: ReadonlySet<string> = words(`
  pg_aggregate pg_am pg_attrdef pg_attribute pg_cast pg_class pg_collation pg_constraint pg_conversion pg_depend pg_description
  pg_enum pg_extension pg_index pg_indexes pg_inherits pg_language pg_matviews pg_namespace pg_opclass pg_operator pg_opfamily
  pg_partitioned_table pg_policies pg_policy pg_proc pg_publication pg_publication_tables pg_range pg_rewrite pg_rules pg_sequence
  pg_sequences pg_stat_all_indexes pg_stat_all_tables pg_stat_user_functions pg_stat_user_indexes pg_stat_user_tables
  pg_statio_all_indexes pg_statio_all_tables pg_statio_user_indexes pg_statio_user_tables pg_stat_database
  pg_statistic_ext pg_tables pg_timezone_names pg_ts_config pg_type pg_views
  information_schema.check_constraints information_schema.column_domain_usage information_schema.column_privileges
  information_schema.columns information_schema.constraint_column_usage information_schema.constraint_table_usage
  information_schema.domain_constraints information_schema.domains information_schema.element_types
  information_schema.enabled_roles information_schema.key_column_usage information_schema.parameters
  information_schema.referential_constraints information_schema.routines information_schema.schemata
  information_schema.sequences information_schema.table_constraints information_schema.table_privileges
  information_schema.tables information_schema.view_column_usage information_schema.view_table_usage information_schema.views`)

/** Settings that SHOW returns. */
export const shownSettings: ReadonlySet<string> = words(`
  block_size client_encoding data_checksums datestyle default_transaction_isolation effective_cache_size integer_datetimes intervalstyle
  lc_collate lc_ctype lc_messages lc_monetary lc_numeric lc_time lock_timeout maintenance_work_mem max_connections
  max_parallel_workers_per_gather random_page_cost search_path server_encoding server_version server_version_num shared_buffers
  statement_timeout timezone transaction_isolation transaction_read_only wal_level work_mem`)

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
