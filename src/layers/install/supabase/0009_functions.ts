import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sqlStateOf } from "../../../services/OwnTables.ts"
import { statements } from "../migrations/statements.ts"

const missing = (signature: string, create: string) =>
  `do $do$ begin
     if to_regprocedure('${signature}') is null then
       ${create};
     end if;
   end $do$`

/** Policies name operations with or without `storage.`. */
const short = (operation: string) => `regexp_replace(${operation}, '^storage\\.', '')`

const ofFiles = statements(
  missing(
    "storage.operation()",
    "create function storage.operation() returns text stable return current_setting('storage.operation', true)"
  ),
  missing(
    "storage.allow_only_operation(text)",
    `create function storage.allow_only_operation(expected_operation text) returns boolean stable
       return coalesce(expected_operation <> '' and ${short("storage.operation()")} = ${short("expected_operation")}, false)`
  ),
  missing(
    "storage.allow_any_operation(text[])",
    `create function storage.allow_any_operation(expected_operations text[]) returns boolean stable
       return exists (select from unnest(expected_operations) o where storage.allow_only_operation(o))`
  )
)

const ofChannels = statements(
  "alter table realtime.messages add column if not exists binary_payload bytea",
  missing(
    "realtime.send_binary(bytea, text, text, boolean)",
    `create function realtime.send_binary(payload bytea, event text, topic text, private boolean default true)
     returns void language plpgsql set search_path = pg_catalog set timezone = 'UTC' as $$
     begin
       insert into realtime.messages (binary_payload, event, topic, private, extension)
         values (payload, event, topic, private, 'broadcast');
     exception when others then
       raise warning 'realtime.send_binary: the message to % was not sent: %', topic, sqlerrm;
     end $$`
  ),
  // The service evaluates policies without a function since then.
  "drop function if exists realtime.svc_visible(text, json, text)"
)

/** A schema that a dump has brought may belong to others. */
export const laterFunctions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The length of an upload may be unknown when it begins.
  yield* sql`alter table svc.supabase_uploads alter column length drop not null`
  for (const functions of [ofFiles, ofChannels]) {
    yield* sql.withTransaction(functions).pipe(
      Effect.catchIf(
        (error) => sqlStateOf(error).startsWith("42"),
        (error) =>
          Effect.logWarning(`Failed to create functions in schema storage or realtime, SQLSTATE ${sqlStateOf(error)}`)
      )
    )
  }
})
