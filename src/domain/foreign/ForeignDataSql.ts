import { type NewForeignImport, type NewForeignServer, type NewUserMapping, localUserOf } from "./ForeignData.ts"
import { mask, secretOption } from "../connections/Params.ts"
import { quoteLiteral, quoteName } from "../sql/Names.ts"

const options = (values: Readonly<Record<string, string>>) =>
  `options (${Object.entries(values)
    .map(([name, value]) => `${quoteName(name)} ${quoteLiteral(value)}`)
    .join(", ")})`

/** How long a foreign server may take to let somebody in, in seconds; for each address of its host. */
const connectTimeout = "5"

export const postgresFdw = "postgres_fdw"

/** Only what is known to understand it is told how long to wait for a connection. */
export const createServerSql = ({ dbname, fdw_name = postgresFdw, host, name, port = "5432" }: NewForeignServer) =>
  `create server ${quoteName(name)} foreign data wrapper ${quoteName(fdw_name)} ${options({
    host,
    port: String(port),
    dbname,
    ...(fdw_name === postgresFdw ? { connect_timeout: connectTimeout } : {})
  })}`

export const createMappingSql = ({ local_user, remote_password, remote_user, server }: NewUserMapping) => {
  const local = localUserOf(local_user)
  return `create user mapping for ${typeof local === "string" ? local : quoteName(local.role)} server ${quoteName(server)} ${options(
    { user: remote_user, ...(remote_password === "" ? {} : { password: remote_password }) }
  )}`
}

/** `only`: nothing but this table. */
export const importSql = ({ local_schema, remote_schema, server }: NewForeignImport, only?: string) =>
  `import foreign schema ${quoteName(remote_schema)} ${only === undefined ? "" : `limit to (${quoteName(only)}) `}from server ${quoteName(server)} into ${quoteName(local_schema)}`

/** What a statement with a secret is run by: its text is in a setting of the transaction and in no text of ours. */
export const hiddenSetting = "svc.hidden_statement"

/**
 * Runs the statement of `hiddenSetting`. PostgreSQL would write the text of one that fails into its log, as the
 * statement or as where it happened; here that is this text.
 */
export const runHiddenSql = `do $svc$
declare state text; said text; more text; advice text;
begin
  execute pg_catalog.current_setting('${hiddenSetting}');
exception when query_canceled or assert_failure or others then
  get stacked diagnostics state = returned_sqlstate, said = message_text, more = pg_exception_detail,
    advice = pg_exception_hint;
  raise exception using errcode = state, message = said, detail = more, hint = advice;
end $svc$`

const quiet: Readonly<Record<string, string>> = {
  log_statement: "none",
  log_duration: "off",
  log_min_duration_statement: "-1",
  log_min_duration_sample: "-1",
  log_transaction_sample_rate: "0",
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
  log_parameter_max_length: "0",
  log_parameter_max_length_on_error: "0",
  "pg_stat_statements.track": "none"
}

/** For the rest of the transaction the server writes down no statements and parameters, as far as our role may say so. */
export const quietSql = `do $svc$
declare setting text[];
begin
  foreach setting slice 1 in array array[${Object.entries(quiet)
    .map(([name, value]) => `['${name}', '${value}']`)
    .join(", ")}]
  loop
    begin
      perform pg_catalog.set_config(setting[1], setting[2], true);
    exception when others then null;
    end;
  end loop;
end $svc$`

const serversSql = `select coalesce(json_agg(json_build_object(
    'server_name', s.srvname,
    'fdw_name', w.fdwname,
    'handler', (select proname from pg_catalog.pg_proc where oid = w.fdwhandler),
    'validator', (select proname from pg_catalog.pg_proc where oid = w.fdwvalidator),
    'server_options', coalesce(s.srvoptions, '{}'),
    'user_mappings', (
      select coalesce(json_agg(case when m.umuser = 0 then 'PUBLIC' else m.usename end
          order by m.umuser = 0 desc, m.usename), '[]')
      from pg_catalog.pg_user_mappings m where m.srvid = s.oid)
  ) order by s.srvname), '[]')
  from pg_catalog.pg_foreign_server s join pg_catalog.pg_foreign_data_wrapper w on w.oid = s.srvfdw`

const tablesSql = `select coalesce(json_agg(json_build_object(
    'schema', n.nspname,
    'table_name', c.relname,
    'server_name', s.srvname,
    'columns', (
      select coalesce(json_agg(a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod)
          order by a.attnum), '[]')
      from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
  ) order by n.nspname, c.relname), '[]')
  from pg_catalog.pg_foreign_table f join pg_catalog.pg_class c on c.oid = f.ftrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_foreign_server s on s.oid = f.ftserver`

/** A `ForeignDataListing` as JSON; options are as they are stored. */
export const listingSql = `select json_build_object('wrappers', (${serversSql}), 'foreignTables', (${tablesSql}))::text`

/** The `ForeignServer` of the name `$1` in an array, as JSON. */
export const serverSql = `select (${serversSql} where s.srvname = $1::text)::text`

/** The `ForeignTable`s of schema `$1` that this transaction made, as JSON. */
export const importedSql = `select (${tablesSql}
  where n.nspname = $1::text and c.xmin::text = pg_catalog.pg_current_xact_id()::xid::text)::text`

/** An option as it may be shown. */
export const shownOption = (option: string) => {
  const equals = option.indexOf("=")
  const [name, value] = [option.slice(0, equals), option.slice(equals + 1)]
  return secretOption(name, value) ? `${name}=${mask}` : option
}
