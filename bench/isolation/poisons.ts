/** Statements with which user code changes its session, by what they are about. `u1` is some other caller. */
export const poisons = {
  /** Settings that callers must not inherit. */
  settings: [
    "set request.jwt.sub = 'u1'; set request.jwt.claims = '{\"sub\":\"u1\"}'",
    "select set_config('request.jwt.claims', '{\"sub\":\"u1\"}', false), set_config('request.jwt.sub', 'u1', false)",
    "set app.tenant = 'u1'",
    "set leak.mark = 'left'",
    "reset all",
    "set search_path = pg_temp, pg_catalog",
    "set search_path = other, public",
    "set search_path = ''",
    "set timezone = 'Asia/Tokyo'",
    "set datestyle = 'German'",
    "set intervalstyle = 'sql_standard'",
    "set client_encoding = 'LATIN1'",
    "set row_security = off",
    "set statement_timeout = 1",
    "set statement_timeout = 0",
    "set lock_timeout = 1",
    "set idle_session_timeout = 1",
    "set idle_in_transaction_session_timeout = 1",
    "set transaction_timeout = 1",
    "set default_transaction_read_only = on",
    "set default_transaction_isolation = 'serializable'",
    "set default_transaction_deferrable = on",
    "set session characteristics as transaction read only",
    "set transaction_read_only = on",
    "set transaction read only",
    "set constraints all deferred",
    "set exit_on_error = on",
    "set client_min_messages = 'error'",
    "set client_min_messages = 'debug5'",
    "set constraint_exclusion = on",
    "set transform_null_equals = on",
    "set standard_conforming_strings = off",
    "set bytea_output = 'escape'",
    "set extra_float_digits = -15",
    "set plan_cache_mode = force_generic_plan",
    "set work_mem = '64kB'",
    "set jit = on; set jit_above_cost = 0",
    "set check_function_bodies = off",
    "set application_name = 'somebody'",
    "select set_config('response.status', '418', false), set_config('response.headers', '[{\"x-poison\":\"1\"}]', false)",
    "select setseed(0.25)"
  ],
  roles: [
    "set role none",
    "reset role",
    "set role anon",
    "set role authenticated",
    "set local role anon",
    "set role postgres",
    "set session authorization default",
    "set session authorization anon",
    "set session authorization postgres",
    "reset session authorization"
  ],
  /** Objects of the session, some with names that other statements use. */
  objects: [
    "create temporary table clean_read as select 1 as id, 'u1'::text as owner, 'forged'::text as body",
    "create temporary table clean_write (id int, owner text default 'u1', note text, writer text, last_writer text)",
    "create temporary view sql_read as select 1 as id, 'u1'::text as owner, 'forged'::text as body",
    "create temporary table text (a int)",
    "create temporary table json (a int)",
    "create temporary table pg_class (a int)",
    "create temporary sequence passing",
    "create function pg_temp.current_setting(text, boolean) returns text language sql as $$ select 'u1' $$",
    "create function pg_temp.tenant() returns text language sql as $$ select 'u1' $$; set search_path = pg_temp, public",
    "create domain pg_temp.bool as text",
    "declare passing cursor with hold for select 1",
    "listen passing",
    "listen svc_ddl",
    "unlisten *",
    "notify svc_ddl, 'forged'",
    "select nextval('poison_sequence')",
    "select lo_open(lo_creat(-1), 131072)",
    "load 'plpgsql'"
  ],
  prepared: [
    "deallocate all",
    "discard plans",
    "discard all",
    "discard temp",
    "prepare passing as select 1",
    'prepare "1" as select 1; prepare s1 as select 1',
    ...["all", "some", "replace", "commit", "begin", "set_config", "reset|discard"].map(
      (how) => `select poison_prepared('${how}')`
    )
  ],
  locks: [
    "select pg_advisory_lock(pg_backend_pid())",
    "select pg_advisory_lock_shared(2)",
    "select pg_advisory_xact_lock(pg_backend_pid())",
    "select pg_try_advisory_lock(3)"
  ],
  transactions: [
    "commit",
    "rollback",
    "savepoint passing",
    "prepare transaction 'passing'",
    "do $$ begin commit; end $$",
    "do $$ begin rollback; end $$",
    "copy clean_read to stdout",
    "begin; commit"
  ],
  /** Errors which the service or its driver might take for its own. */
  errors: [
    ...["26000", "0A000", "25P02", "57014", "57P01", "57P03", "40001", "40P01", "08006", "53300", "28000", "XX000"].map(
      (state) => `do $$ begin raise exception using errcode = '${state}', message = 'raised'; end $$`
    ),
    "do $$ begin raise notice '%', repeat('x', 1000000); end $$",
    "do $$ begin for i in 1 .. 3000 loop raise warning 'notice %', i; end loop; end $$",
    "select 1 / 0",
    "execute nothing"
  ],
  /** The end of its own statement or session. */
  ends: [
    "select pg_sleep(0.05)",
    "select pg_cancel_backend(pg_backend_pid())",
    "select pg_terminate_backend(pg_backend_pid())",
    "set role none; select pg_cancel_backend(pg_backend_pid())",
    "set role none; select pg_terminate_backend(pg_backend_pid())",
    "set transaction_timeout = 1; select pg_sleep(0.01)",
    "set statement_timeout = 1; select pg_sleep(0.01)"
  ],
  /** Forged epochs, which would make answers of an older catalogue look current. */
  epochs: [
    "update svc_ddl.changes set n = 0",
    "delete from svc_ddl.changes",
    "insert into svc_ddl.changes values (-1)",
    "set role none; insert into svc_ddl.changes values (-1)",
    "create temporary table changes (n bigint); set search_path = pg_temp"
  ],
  /** The end of other callers' statements and sessions. */
  others: ["cancel", "terminate"].map(
    (how) => `set role none; select pg_${how}_backend(pid) from pg_stat_activity
      where datname = current_database() and usename = session_user and pid <> pg_backend_pid()`
  )
}

export type PoisonGroup = keyof typeof poisons

export const poisonGroups = Object.keys(poisons) as ReadonlyArray<PoisonGroup>

/** Those that a service key, which is a superuser's, must not send: it may do what they do. */
export const onlyForUsers = new Set<PoisonGroup>(["others", "epochs"])
