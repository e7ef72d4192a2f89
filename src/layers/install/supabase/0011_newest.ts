import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sqlStateOf } from "../../../services/OwnTables.ts"
import { statements } from "../migrations/statements.ts"
import { uidBody } from "../AuthHelpers.ts"

/** Creates a function, or replaces the one that an earlier step made, which `mark` in its body identifies. */
const replaced = (signature: string, mark: string, create: string) => `do $do$ begin
    if to_regprocedure('${signature}') is null
      or exists (select from pg_proc where oid = to_regprocedure('${signature}') and (prosrc ~ '${mark}' or pg_get_function_sqlbody(oid) ~ '${mark}'))
    then
      ${create};
    end if;
  end $do$`

/** Adds columns to a table that has those of an earlier step: a dump's is left as it is. */
const completed = (table: string, columns: string, added: string) => `do $do$ begin
    if (select string_agg(attname::text, ' ' order by attname::text collate "C") from pg_attribute
        where attrelid = to_regclass('${table}') and attnum > 0 and not attisdropped) = '${columns}'
    then
      alter table ${table} ${added};
    end if;
  end $do$`

/**
 * The policies of realtime.messages test the topic that a message is for. They may call functions that find their tables by
 * the caller's search_path, so these functions set none.
 */
const sender = (name: string, payload: "jsonb" | "bytea", column: string, identify: string) =>
  replaced(
    `realtime.${name}(${payload}, text, text, boolean)`,
    "was not sent",
    `create or replace function realtime.${name}(payload ${payload}, event text, topic text, private boolean default true)
     returns void language plpgsql as $$
     declare
       made uuid := pg_catalog.gen_random_uuid();
       -- Columns of realtime.messages have times of UTC.
       sent timestamp := pg_catalog.timezone('UTC', pg_catalog.now());
     begin
       ${identify}
       perform pg_catalog.set_config('realtime.topic', topic, true);
       insert into realtime.messages (id, ${column}, event, topic, private, extension, inserted_at, updated_at)
         values (made, payload, event, topic, private, 'broadcast', sent, sent);
     exception when others then
       raise warning 'realtime.${name}: the message to % was not sent: %', topic, sqlerrm;
     end $$`
  )

const ofChannels = statements(
  sender(
    "send",
    "jsonb",
    "payload",
    `if pg_catalog.jsonb_typeof(payload) = 'object' and not pg_catalog.jsonb_exists(payload, 'id') then
         payload := pg_catalog.jsonb_set(payload, '{id}', pg_catalog.to_jsonb(made));
       end if;`
  ),
  sender("send_binary", "bytea", "binary_payload", ""),
  replaced(
    "realtime.broadcast_changes(text, text, text, text, text, record, record, text)",
    "broadcast_changes needs a trigger for each row",
    `create or replace function realtime.broadcast_changes(topic_name text, event_name text, operation text, table_name text,
       table_schema text, new record, old record, level text default 'ROW')
     returns void language plpgsql as $$
     begin
       if level = 'STATEMENT' then raise exception 'broadcast_changes needs a trigger for each row, not for each statement'; end if;
       if operation is null or operation not in ('INSERT', 'UPDATE', 'DELETE') then
         raise exception 'broadcast_changes: the operation must be INSERT, UPDATE or DELETE, not %', operation;
       end if;
       perform realtime.send(pg_catalog.jsonb_build_object('schema', table_schema, 'table', table_name, 'operation', operation,
         'record', pg_catalog.to_jsonb(new), 'old_record', pg_catalog.to_jsonb(old)), event_name, topic_name);
     end $$`
  )
)

/** Columns that the rows of a dump have. Versions are not kept, and other types of buckets not served. */
const ofFiles = statements(
  `do $do$ begin
     if to_regtype('storage.buckettype') is null then
       create type storage.buckettype as enum ('STANDARD', 'ANALYTICS', 'VECTOR');
     end if;
   end $do$`,
  completed(
    "storage.buckets",
    "allowed_mime_types avif_autodetection created_at file_size_limit id name owner owner_id public updated_at",
    `add column type storage.buckettype not null default 'STANDARD' check (type = 'STANDARD'),
     add column versioning_status text not null default 'DISABLED' check (versioning_status = 'DISABLED')`
  ),
  completed(
    "storage.objects",
    "bucket_id created_at id last_accessed_at metadata name owner owner_id path_tokens updated_at user_metadata version",
    `add column archived_at timestamptz,
     add column is_delete_marker boolean not null default false,
     add column is_versioned boolean not null default false`
  ),
  `do $do$ begin
     if to_regprocedure('storage.get_size_by_bucket()') is null then
       create function storage.get_size_by_bucket() returns table (size bigint, bucket_id text) language plpgsql stable as $$
       begin
         return query select sum((o.metadata ->> 'size')::bigint)::bigint, o.bucket_id from storage.objects o group by o.bucket_id;
       end $$;
     end if;
   end $do$`
)

const ofAccounts = statements(
  replaced(
    "auth.uid()",
    "request.jwt.sub",
    `create or replace function auth.uid() returns uuid stable parallel safe return ${uidBody}`
  )
)

/**
 * What Supabase has changed in its schemas since the steps before were written. A schema that a dump has brought may belong
 * to others.
 */
export const newest = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const [schema, changes] of [
    ["realtime", ofChannels],
    ["storage", ofFiles],
    ["auth", ofAccounts]
  ] as const) {
    yield* sql.withTransaction(changes).pipe(
      Effect.catchIf(
        (error) => sqlStateOf(error).startsWith("42"),
        (error) => Effect.logWarning(`Failed to update the schema ${schema}, SQLSTATE ${sqlStateOf(error)}`)
      )
    )
  }
})
