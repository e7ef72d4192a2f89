import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sqlStateOf } from "../../../services/OwnTables.ts"
import { statements } from "../migrations/statements.ts"

/** The text in the function that the step before made, when this server had no channels. */
const dropping = "this server has no channels"

/** Creates a function, unless the database has one of its own. */
const own = (signature: string, create: string) => `do $do$ begin
    if to_regprocedure('${signature}') is null
      or exists (select from pg_proc where oid = to_regprocedure('${signature}') and prosrc ~ '${dropping}|perform realtime.send\\(null,')
    then
      ${create}
    end if;
  end $do$`

/** A failure is a warning, never an error: it must not fail the write that a trigger belongs to. */
const send = own(
  "realtime.send(jsonb, text, text, boolean)",
  `create or replace function realtime.send(payload jsonb, event text, topic text, private boolean default true)
   returns void language plpgsql set search_path = pg_catalog set timezone = 'UTC' as $$
   begin
     insert into realtime.messages (payload, event, topic, private, extension)
       values (payload, event, topic, private, 'broadcast');
   exception when others then
     raise warning 'realtime.send: the message to % was not sent: %', topic, sqlerrm;
   end $$;`
)

const tables = statements(
  `create unlogged table svc.channel_messages (
     id bigint generated always as identity primary key,
     body text not null,
     created_at timestamptz not null default now()
   )`,
  "create index channel_messages_created_at on svc.channel_messages (created_at)",
  `create table svc.channel_tables (
     table_schema text not null,
     table_name text not null,
     primary key (table_schema, table_name)
   )`
)

/** Its triggers notify the id alone, so that messages may be of any size. */
const functions = statements(
  `create function svc.notify_channel_message() returns trigger language plpgsql set search_path = pg_catalog as $$
   begin
     perform pg_notify('svc_channels', json_build_object('from', '', 'seq', 0,
       'message', json_build_object('kind', 'row', 'id', new.id))::text);
     return null;
   exception when others then
     raise warning 'svc: a message to % was not sent: %', new.topic, sqlerrm;
     return null;
   end $$`,
  `do $do$ begin
     create trigger svc_channel_message after insert on realtime.messages for each row
       when (new.extension = 'broadcast') execute function svc.notify_channel_message();
     create index svc_messages_topic on realtime.messages (topic, inserted_at);
   exception when undefined_table or undefined_column then
     raise warning 'svc: realtime.messages is not as expected, so that the database cannot send to channels';
   end $do$`,
  send,
  own(
    "realtime.broadcast_changes(text, text, text, text, text, record, record, text)",
    `create or replace function realtime.broadcast_changes(topic_name text, event_name text, operation text, table_name text,
       table_schema text, new record, old record, level text default 'ROW')
     returns void language plpgsql set search_path = pg_catalog as $$
     begin
       if level = 'STATEMENT' then raise exception 'broadcast_changes needs a trigger for each row'; end if;
       perform realtime.send(jsonb_build_object('id', gen_random_uuid(), 'schema', table_schema, 'table', table_name,
         'operation', operation, 'record', to_jsonb(new), 'old_record', to_jsonb(old)), event_name, topic_name);
     end $$;`
  ),
  // Policies are evaluated on rows that never exist: what is written here is rolled back.
  `create function realtime.svc_channel_probe(topic text, extension text) returns uuid language plpgsql security definer
     set search_path = pg_catalog as $$
   declare
     made uuid;
   begin
     insert into realtime.messages (topic, extension, private) values ($1, $2, true) returning messages.id into made;
     return made;
   end $$`,
  `create function realtime.svc_channel_rights(caller text, claims text, sub text, channel text) returns text
   language plpgsql set search_path = public, extensions as $$
   declare
     kind text;
     probe uuid;
     probes uuid[] := '{}';
     rights text := '';
   begin
     begin
       perform pg_catalog.set_config('realtime.topic', channel, true);
       foreach kind in array array['broadcast', 'presence'] loop
         probes := probes || realtime.svc_channel_probe(channel, kind);
       end loop;
       perform pg_catalog.set_config('request.jwt.claims', claims, true), pg_catalog.set_config('request.jwt.sub', sub, true);
       perform pg_catalog.set_config('role', caller, true);
       for i in 1..2 loop
         begin
           if exists (select from realtime.messages m where m.id = probes[i]) then
             rights := rights || case i when 1 then 'b' else 'p' end;
           end if;
         exception when others then null;
         end;
         begin
           insert into realtime.messages (topic, extension, private)
             values (channel, case i when 1 then 'broadcast' else 'presence' end, true);
           rights := rights || case i when 1 then 'B' else 'P' end;
         exception when others then null;
         end;
       end loop;
       raise exception using errcode = 'SVC01';
     exception when sqlstate 'SVC01' then null;
     end;
     return rights;
   end $$`,
  // A prepared statement is planned once for all readers of a role; each execution evaluates the policies again.
  `create function realtime.svc_visible(caller text, readers json, query text) returns table (n int, seen text)
   language plpgsql set search_path = public, extensions as $$
   declare
     reader record;
   begin
     if exists (select from pg_catalog.pg_prepared_statements where name = 'svc_visible') then deallocate svc_visible; end if;
     perform pg_catalog.set_config('role', caller, true);
     execute 'prepare svc_visible as ' || query;
     for reader in select x.value ->> 'claims' as claims, x.value ->> 'sub' as sub, x.ordinality::int as ordinality
       from pg_catalog.json_array_elements(readers) with ordinality x loop
       begin
         perform pg_catalog.set_config('request.jwt.claims', reader.claims, true),
           pg_catalog.set_config('request.jwt.sub', reader.sub, true);
         execute 'execute svc_visible' into seen;
         n := reader.ordinality;
         if seen is not null then return next; end if;
       exception when others then null;
       end;
     end loop;
     deallocate svc_visible;
     perform pg_catalog.set_config('role', 'none', true);
   end $$`,
  `revoke all on function realtime.svc_channel_probe(text, text), realtime.svc_channel_rights(text, text, text, text),
     realtime.svc_visible(text, json, text) from public`
)

/** A schema that a dump has brought may belong to others: then channels are public, and the database sends nothing. */
export const channels = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* tables
  yield* sql.withTransaction(functions).pipe(
    Effect.catchIf(
      (error) => sqlStateOf(error).startsWith("42"),
      (error) =>
        Effect.logWarning(`Failed to create what channels need in schema realtime, SQLSTATE ${sqlStateOf(error)}`)
    )
  )
})
