import { statements } from "./statements.ts"

/**
 * Calls of API keys with a rate limit, of all replicas, by the second after which they were made. Unlogged: after a crash
 * of PostgreSQL the counts begin at zero, as they do after a restart of a process that counts alone.
 */
export const rateCalls = statements(
  `create unlogged table svc.rate_calls (
     key_id integer not null references svc.api_keys (id) on delete cascade,
     replica text not null,
     second timestamptz not null,
     calls integer not null,
     primary key (key_id, replica, second)
   )`,
  // One replica at a time takes calls of a key. "made" were admitted before, "wanted" are only if the limit allows them.
  `create function svc.take_calls(key integer, asking text, made integer, wanted integer, most integer,
     out granted boolean, out others integer, out wait_millis integer)
   language plpgsql set search_path = pg_catalog as $$
   declare
     moment timestamptz;
     total bigint;
     added integer;
   begin
     perform pg_advisory_xact_lock(hashtext('svc.rate_calls'), key);
     moment := clock_timestamp();
     delete from svc.rate_calls where key_id = key and second <= moment - interval '60 seconds';
     select coalesce(sum(calls), 0), coalesce(sum(calls) filter (where replica <> asking), 0),
         greatest(1, extract(epoch from coalesce(min(second), moment) + interval '60 seconds' - moment) * 1000)
       into total, others, wait_millis from svc.rate_calls where key_id = key;
     granted := total + made + wanted <= most;
     added := made + case when granted then wanted else 0 end;
     if added > 0 then
       insert into svc.rate_calls values (key, asking, date_trunc('second', moment) + interval '1 second', added)
         on conflict (key_id, replica, second) do update set calls = rate_calls.calls + excluded.calls;
     end if;
   end $$`,
  "revoke all on function svc.take_calls(integer, text, integer, integer, integer) from public"
)
