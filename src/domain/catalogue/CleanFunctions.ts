/** The first oid of objects made after initdb (FirstNormalObjectId). */
export const firstOid = 16384

const words = (text: string) => text.trim().split(/\s+/)

/**
 * Functions of PostgreSQL 15 to 18 that run no user code and leave nothing in the session, by name: all overloads that
 * PostgreSQL brings. Left out is what takes the name of a type, relation, function or query (`pg_input_is_valid`,
 * `to_regclass`, `query_to_xml`, `ts_stat`), what builds values of a named row type (`json_populate_record`), what
 * changes the session or server (`set_config`, `pg_advisory_lock`), and what depends on the search path
 * (`current_schema`). The functions of operators need no entry.
 */
export const cleanFunctions: ReadonlyArray<string> = [
  ...words(`
    abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh cbrt ceil ceiling cos cosd cosh cot cotd degrees
    div erf erfc exp factorial floor gamma gcd lcm lgamma ln log log10 min_scale mod pi pow power radians random
    random_normal round scale sign sin sind sinh sqrt tan tand tanh trim_scale trunc width_bucket`),
  // Casts; those with a length are calls too.
  ...words(`
    bit bool bpchar bytea char cidr date float4 float8 inet int2 int4 int8 interval jsonb macaddr macaddr8 money name
    numeric oid text time timestamp timestamptz timetz tid varbit varchar xid xid8 xml uuid`),
  ...words(`
    ascii bit_count bit_length btrim casefold char_length character_length chr concat concat_ws convert convert_from
    convert_to crc32 crc32c decode encode format get_bit get_byte initcap is_normalized left length like like_escape
    lower lpad ltrim md5 normalize notlike octet_length overlay position quote_ident quote_literal quote_nullable
    regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array
    regexp_split_to_table regexp_substr repeat replace reverse right rpad rtrim set_bit set_byte sha224 sha256 sha384
    sha512 similar_escape similar_to_escape split_part starts_with string_to_array string_to_table strpos substr
    substring text_pattern_lt textlen to_ascii to_bin to_hex to_oct translate unicode_assigned unistr upper`),
  ...words(`
    age clock_timestamp date_add date_bin date_part date_subtract date_trunc extract isfinite justify_days justify_hours
    justify_interval make_date make_interval make_time make_timestamp make_timestamptz now overlaps statement_timestamp
    timeofday timezone to_char to_date to_number to_timestamp transaction_timestamp`),
  ...words(`
    array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position array_positions
    array_prepend array_remove array_replace array_reverse array_sample array_shuffle array_sort array_to_string
    array_upper cardinality generate_series generate_subscripts trim_array unnest`),
  ...words(`
    array_to_json json_array_elements json_array_elements_text json_array_length json_build_array json_build_object
    json_each json_each_text json_extract_path json_extract_path_text json_object json_object_keys json_strip_nulls
    json_typeof jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object
    jsonb_concat jsonb_contains jsonb_delete jsonb_delete_path jsonb_each jsonb_each_text jsonb_exists jsonb_exists_all
    jsonb_exists_any jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_keys
    jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query jsonb_path_query_array
    jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz jsonb_pretty jsonb_set
    jsonb_set_lax jsonb_strip_nulls jsonb_typeof row_to_json to_json to_jsonb`),
  ...words(`
    datemultirange daterange int4multirange int4range int8multirange int8range isempty lower_inc lower_inf multirange
    nummultirange numrange range_merge tsmultirange tsrange tstzmultirange tstzrange upper_inc upper_inf`),
  ...words(`
    abbrev broadcast family host hostmask inet_merge inet_same_family macaddr8_set7bit masklen netmask network
    set_masklen`),
  ...words(`
    area box center circle diagonal diameter height isclosed ishorizontal isopen isparallel isperp isvertical line lseg
    npoints on_ppath path pclose point polygon popen radius slope width`),
  // Dictionaries and parsers of text search are written in C and made by administrators.
  ...words(`
    array_to_tsvector get_current_ts_config json_to_tsvector jsonb_to_tsvector numnode phraseto_tsquery plainto_tsquery
    querytree setweight strip to_tsquery to_tsvector ts_delete ts_filter ts_headline ts_rank ts_rank_cd tsquery_phrase
    tsvector_to_array websearch_to_tsquery`),
  ...words(`gen_random_uuid uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7`),
  ...words(
    `enum_first enum_last enum_range num_nonnulls num_nulls pg_column_size pg_size_bytes pg_size_pretty pg_typeof`
  ),
  ...words(`
    current_database current_setting current_user nextval pg_current_xact_id pg_has_role session_user txid_current
    version`),
  // Aggregates and window functions.
  ...words(`
    any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp cume_dist dense_rank
    every first_value json_agg json_agg_strict json_object_agg json_object_agg_strict json_object_agg_unique
    json_object_agg_unique_strict jsonb_agg jsonb_agg_strict jsonb_object_agg jsonb_object_agg_strict
    jsonb_object_agg_unique jsonb_object_agg_unique_strict lag last_value lead max min mode nth_value ntile percent_rank
    percentile_cont percentile_disc range_agg range_intersect_agg rank regr_avgx regr_avgy regr_count regr_intercept
    regr_r2 regr_slope regr_sxx regr_sxy regr_syy row_number stddev stddev_pop stddev_samp string_agg sum var_pop
    var_samp variance`)
]

/**
 * The functions among them that answer another caller, or at another time, differently. The others depend on formats of
 * text at most.
 */
export const varyingFunctions: ReadonlyArray<string> = words(`
  age array_sample array_shuffle clock_timestamp current_database current_setting current_user gen_random_uuid
  get_current_ts_config nextval now pg_current_xact_id pg_has_role random random_normal session_user statement_timestamp
  timeofday transaction_timestamp txid_current uuidv4 uuidv7`)

/** Functions in C of extensions, which are clean too: STABLE only because of their configuration, the same for all callers. */
export const configuredFunctions: ReadonlyArray<string> = ["unaccent"]
