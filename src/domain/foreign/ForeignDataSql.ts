import { type NewForeignImport, type NewForeignServer, type NewUserMapping, localUserOf } from "./ForeignData.ts"
import { mask, secretOption } from "../connections/Url.ts"
import { quoteLiteral, quoteName } from "../sql/Names.ts"

const options = (values: Readonly<Record<string, string>>) =>
  `options (${Object.entries(values)
    .map(([name, value]) => `${quoteName(name)} ${quoteLiteral(value)}`)
    .join(", ")})`

/** Connection timeout of a foreign server in seconds, for each address of its host. */
const connectTimeout = "5"

export const postgresFdw = "postgres_fdw"

/** Only postgres_fdw is known to support `connect_timeout`. */
export const createServerSql = ({ dbname, fdw_name = postgresFdw, host, name, port = "5432" }: NewForeignServer) =>
  `create server ${quoteName(name)} foreign data wrapper ${quoteName(fdw_name)} ${options({
    host,
    port: String(port),
    dbname,
    ...(fdw_name === postgresFdw ? { connect_timeout: connectTimeout } : {})
  })}`

type LocalUser = ReturnType<typeof localUserOf>
const roleSql = (local: LocalUser) => (typeof local === "string" ? local : quoteName(local.role))

export const dropServerSql = (name: string, cascade: boolean) =>
  `drop server ${quoteName(name)} ${cascade ? "cascade" : "restrict"}`

export const dropMappingSql = (server: string, local: LocalUser) =>
  `drop user mapping for ${roleSql(local)} server ${quoteName(server)}`

/** The roles with a mapping on server `$1`. */
export const mappingsSql = `select case when umuser = 0 then 'public' else usename end
  from pg_catalog.pg_user_mappings where srvname = $1::text`

/** Whether server `$1` has a mapping for `$2`: a role, or `current_user` or `public`. */
export const mappedSql = `select from pg_catalog.pg_user_mappings where srvname = $1::text
  and case $2::text when 'public' then umuser = 0 when 'current_user' then usename = current_user else usename = $2::text end`

/** The foreign tables of server `$1`. */
export const usersSql = `select f.ftrelid::regclass::text from pg_catalog.pg_foreign_table f
  join pg_catalog.pg_foreign_server s on s.oid = f.ftserver where s.srvname = $1::text order by 1`

export const createMappingSql = ({ local_user, remote_password, remote_user, server }: NewUserMapping) => {
  return `create user mapping for ${roleSql(localUserOf(local_user))} server ${quoteName(server)} ${options({
    user: remote_user,
    ...(remote_password === "" ? {} : { password: remote_password })
  })}`
}

/** `only`: import just this table. */
export const importSql = ({ local_schema, remote_schema, server }: NewForeignImport, only?: string) =>
  `import foreign schema ${quoteName(remote_schema)} ${only === undefined ? "" : `limit to (${quoteName(only)}) `}from server ${quoteName(server)} into ${quoteName(local_schema)}`

/** The setting that holds the text of a statement with a secret, so that no statement text contains it. */
export const hiddenSetting = "svc.hidden_statement"

/**
 * Runs the statement in `hiddenSetting`. If it fails, PostgreSQL logs the text of the statement and of its context: those
 * are this block instead.
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

/** Disables the logging of statements and parameters for the rest of the transaction, as far as the role may. */
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

/** A `ForeignDataListing` as JSON; options are unmasked. */
export const listingSql = `select json_build_object('wrappers', (${serversSql}), 'foreignTables', (${tablesSql}))::text`

/** The `ForeignServer` named `$1` in an array, as JSON. */
export const serverSql = `select (${serversSql} where s.srvname = $1::text)::text`

/** The `ForeignTable`s of schema `$1` that this transaction created, as JSON. */
export const importedSql = `select (${tablesSql}
  where n.nspname = $1::text and c.xmin::text = pg_catalog.pg_current_xact_id()::xid::text)::text`

/** An option with its value masked if it is secret. */
export const shownOption = (option: string) => {
  const equals = option.indexOf("=")
  const [name, value] = [option.slice(0, equals), option.slice(equals + 1)]
  return secretOption(name, value) ? `${name}=${mask}` : option
}
