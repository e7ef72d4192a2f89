import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { statements } from "../migrations/statements.ts"

const call = (name: string, parameters: string, returns: string, body: string) =>
  `create function pgmq_public.${name}(${parameters}) returns ${returns} language plpgsql set search_path = '' as $$
   begin ${body}; end $$`

/** What Supabase's clients call as `supabase.schema("pgmq_public").rpc(…)`, if SVC_DB_SCHEMAS names the schema. */
export const publicQueues = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [state] = yield* sql<{ wanted: boolean }>`
    select to_regtype('pgmq.message_record') is not null and to_regnamespace('pgmq_public') is null as wanted`
  if (state?.wanted !== true) return
  yield* statements(
    "create schema pgmq_public",
    call(
      "send",
      "queue_name text, message jsonb, sleep_seconds integer default 0",
      "setof bigint",
      "return query select * from pgmq.send(queue_name => queue_name, msg => message, delay => sleep_seconds)"
    ),
    call(
      "send_batch",
      "queue_name text, messages jsonb[], sleep_seconds integer default 0",
      "setof bigint",
      "return query select * from pgmq.send_batch(queue_name => queue_name, msgs => messages, delay => sleep_seconds)"
    ),
    call(
      "read",
      "queue_name text, sleep_seconds integer, n integer",
      "setof pgmq.message_record",
      "return query select * from pgmq.read(queue_name => queue_name, vt => sleep_seconds, qty => n)"
    ),
    call(
      "pop",
      "queue_name text",
      "setof pgmq.message_record",
      "return query select * from pgmq.pop(queue_name => queue_name)"
    ),
    call(
      "archive",
      "queue_name text, message_id bigint",
      "boolean",
      "return pgmq.archive(queue_name => queue_name, msg_id => message_id)"
    ),
    call(
      "delete",
      "queue_name text, message_id bigint",
      "boolean",
      "return pgmq.delete(queue_name => queue_name, msg_id => message_id)"
    )
  )
})
