import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { queueMessages } from "../queues/Messages.ts"
import { queueTables } from "../queues/Tables.ts"
import { statements } from "./statements.ts"

/**
 * Queues, under the names of the extension pgmq. A database that has the extension, or its SQL without the extension, keeps
 * it: nothing is made then.
 */
export const queues = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const there = yield* sql`select from pg_namespace where nspname = 'pgmq'`
  if (there.length > 0) return
  yield* statements("create schema pgmq", ...queueTables, ...queueMessages)
})
