/**
 * Returns a session to what it was at its start, whatever a statement has left in it. The result is the number of prepared
 * statements that were made by SQL, and of all: the service counts those that it makes by the protocol.
 *
 * A function, because a call by its oid is neither looked up nor parsed: nothing in the session can change what it does,
 * and it takes a third of the time of its statements. `seed` is for random(), whose state cannot be reset.
 */
export const resetSessionSql = `create or replace function svc_ddl.reset_session(seed double precision) returns text
  language plpgsql as $$
  declare
    by_sql bigint;
    total bigint;
  begin
    reset session authorization;
    reset role;
    reset all;
    execute 'close all';
    unlisten *;
    discard temp;
    discard sequences;
    perform pg_catalog.pg_advisory_unlock_all();
    perform pg_catalog.setseed(seed);
    select pg_catalog.count(*) filter (where p.from_sql), pg_catalog.count(*) into by_sql, total
      from pg_catalog.pg_prepared_statement() p;
    return pg_catalog.concat_ws(',', by_sql, total);
  end $$`
