import { Effect } from "effect"
import { statements } from "../migrations/statements.ts"
import { missingTable } from "./missing.ts"

/**
 * The table of messages, to which policies of channels are attached, and the functions that triggers call. This service
 * has no channels: a trigger's message is dropped with a warning, and the write that caused it succeeds.
 */
export const broadcasts = Effect.all(
  [
    statements("grant usage on schema realtime to anon, authenticated, service_role"),
    missingTable(
      "realtime.messages",
      `create table realtime.messages (
     topic text not null,
     extension text not null,
     payload jsonb,
     event text,
     private boolean default false,
     updated_at timestamp not null default now(),
     inserted_at timestamp not null default now(),
     id uuid not null default gen_random_uuid(),
     primary key (id, inserted_at)
   )`,
      "alter table realtime.messages enable row level security",
      "grant select, insert, update on realtime.messages to anon, authenticated, service_role"
    ),
    statements(`do $do$ begin
     if to_regprocedure('realtime.topic()') is null then
       create function realtime.topic() returns text stable return nullif(current_setting('realtime.topic', true), '');
     end if;
     if to_regprocedure('realtime.send(jsonb, text, text, boolean)') is null then
       create function realtime.send(payload jsonb, event text, topic text, private boolean default true)
       returns void language plpgsql set search_path = pg_catalog as $$
       begin
         raise warning 'realtime.send: this server has no channels, the message to % is dropped', topic;
       end $$;
     end if;
     if to_regprocedure('realtime.broadcast_changes(text, text, text, text, text, record, record, text)') is null then
       create function realtime.broadcast_changes(topic_name text, event_name text, operation text, table_name text,
         table_schema text, new record, old record, level text default 'ROW')
       returns void language plpgsql set search_path = pg_catalog as $$
       begin
         perform realtime.send(null, event_name, topic_name);
       end $$;
     end if;
   end $do$`)
  ],
  { discard: true }
)
