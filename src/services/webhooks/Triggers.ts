import { Context, Effect, Layer, Queue, Schedule, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import {
  allWebhookTablesSql,
  arrangement,
  lockTableSql,
  type WebhookTable,
  webhookTableSql
} from "../../domain/webhooks/TriggerSql.ts"
import { Listener } from "../ports/Listener.ts"
import { onOwnTables } from "../OwnTables.ts"
import { WatchedTables } from "../catalogue/WatchedTables.ts"

/**
 * The triggers that put row changes into the outbox: on every table that has a webhook, and on no other. Whether a
 * webhook is active changes nothing about them.
 */
export class WebhookTriggers extends Context.Service<
  WebhookTriggers,
  {
    /** In a transaction (`WatchedTables.change`): nobody else rearranges this table until that ends. */
    readonly lock: (oid: number) => Effect.Effect<void, SqlError.SqlError>
    /** In the same transaction: gives the table the triggers that its webhooks need. */
    readonly arrange: (oid: number) => Effect.Effect<void, SqlError.SqlError>
    /** The same in a transaction of its own. What can't be done now is logged, and tried again by the next round. */
    readonly settle: (oid: number) => Effect.Effect<void>
  }
>()("svc/services/WebhookTriggers") {
  static readonly layer = Layer.effect(
    WebhookTriggers,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const watched = yield* WatchedTables
      const { messages } = yield* (yield* Listener).listen("svc_ddl")

      const lock = (oid: number) => Effect.asVoid(sql.unsafe(lockTableSql, [String(oid)]))

      const arrange = (oid: number) =>
        Effect.gen(function* () {
          const [table] = yield* sql.unsafe<WebhookTable>(webhookTableSql, [String(oid)])
          if (table !== undefined) for (const text of arrangement(table)) yield* sql.unsafe(text)
        })

      /** What was said last of a table, so that it is not said every minute. */
      const told = new Map<number, string>()
      const settle = (oid: number) =>
        watched.change(Effect.andThen(lock(oid), arrange(oid))).pipe(
          Effect.tap(() => Effect.sync(() => told.delete(oid))),
          Effect.catch((error) => {
            if (told.get(oid) === error.error) return Effect.void
            told.set(oid, error.error)
            return Effect.logWarning(`The webhook triggers of table ${oid} can't be changed now: ${error.error}`)
          }),
          Effect.catchCause((cause) => Effect.logError(`The webhook triggers of table ${oid} can't be changed`, cause))
        )

      const round = Effect.gen(function* () {
        const tables = yield* onOwnTables(sql.unsafe<WebhookTable>(allWebhookTablesSql))
        for (const table of tables) if (arrangement(table).length > 0) yield* settle(table.oid)
      }).pipe(
        Effect.catchTag("Unavailable", () => Effect.void), // the listener says when it is back
        Effect.catchCause((cause) => Effect.logError("Webhook triggers could not be looked after", cause))
      )

      // A storm of DDL is one round, not many.
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

      return WebhookTriggers.of({ lock, arrange, settle })
    })
  )
}
