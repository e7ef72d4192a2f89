import { Effect, Queue, Schedule, Stream } from "effect"
import { SqlClient } from "effect/sql"
import {
  allWebhookTablesSql,
  lockTableSql,
  triggerChanges,
  type WebhookTable,
  webhookTableSql
} from "../../domain/webhooks/TriggerSql.ts"
import { Listener } from "../ports/Listener.ts"
import { onOwnTables, logFailure } from "../OwnTables.ts"
import { ChangeTables } from "../changes/Tables.ts"
import { WatchedTables } from "../changes/WatchedTables.ts"

/**
 * The triggers that write row changes to the outbox: on every table that has a webhook, active or not, and on no other.
 * They are reconciled at start, after DDL and once a minute.
 */
export const makeWebhookTriggers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const watched = yield* WatchedTables
  const sources = yield* ChangeTables
  const { messages } = yield* (yield* Listener).listen("svc_ddl")

  /** Locks the triggers of a table until the transaction ends (`WatchedTables.change`). */
  const lock = (oid: number) => Effect.asVoid(sql.unsafe(lockTableSql, [String(oid)]))

  /** Gives the table the triggers that its webhooks need, in the transaction of `lock`. */
  const apply = (oid: number) =>
    Effect.gen(function* () {
      yield* sources.settle(oid)
      const [table] = yield* sql.unsafe<WebhookTable>(webhookTableSql, [String(oid)])
      if (table !== undefined) for (const text of triggerChanges(table)) yield* sql.unsafe(text)
    })

  /** The last warning about each table, so that it is not repeated every minute. */
  const warned = new Map<number, string>()
  /** Locks and applies in a separate transaction. A failure is logged, and retried in the next round. */
  const reconcile = (oid: number) =>
    watched.change(Effect.andThen(lock(oid), apply(oid))).pipe(
      Effect.tap(() => Effect.sync(() => warned.delete(oid))),
      Effect.catch((error) => {
        if (warned.get(oid) === error.error) return Effect.void
        warned.set(oid, error.error)
        return Effect.logWarning(`Failed to change the webhook triggers of table ${oid}, will retry: ${error.error}`)
      }),
      Effect.catchCause((cause) => Effect.logError(`Failed to change the webhook triggers of table ${oid}`, cause))
    )

  const round = Effect.gen(function* () {
    const tables = yield* onOwnTables(sql.unsafe<WebhookTable>(allWebhookTablesSql))
    for (const table of tables) if (triggerChanges(table).length > 0) yield* reconcile(table.oid)
  }).pipe(
    Effect.catchTag("Unavailable", () => Effect.void), // the listener reports when the database is back
    Effect.catchCause(logFailure("Failed to reconcile webhook triggers"))
  )

  // A burst of DDL causes one round, not many.
  const rounds = yield* Queue.sliding<void>(1)
  yield* messages.pipe(
    Stream.runForEach(() => Queue.offer(rounds, undefined)),
    Effect.forkScoped
  )
  yield* Effect.timeoutOption(Queue.take(rounds), "1 minute").pipe(
    Effect.andThen(Effect.delay(round, "100 millis")),
    Effect.repeat(Schedule.forever),
    Effect.forkScoped
  )

  return { lock, apply, reconcile }
})
