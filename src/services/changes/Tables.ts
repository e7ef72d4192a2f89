import { Context, Effect, Layer, Queue, Schedule, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import {
  type ChangeTable,
  changedTablesSql,
  changeTableSql,
  lockSourceSql,
  logPublication
} from "../../domain/changes/LogSql.ts"
import { createTriggerSql } from "../../domain/realtime/Subscription.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { triggerChanges, type WebhookTable, webhookTableSql } from "../../domain/webhooks/TriggerSql.ts"
import { WatchedTables } from "./WatchedTables.ts"
import { onOwnTables, logFailure } from "../OwnTables.ts"
import { Listener } from "../ports/Listener.ts"
import { changeSource } from "./Settings.ts"

/** The subscription of a table that its triggers would serve. $1: the table's oid. */
const subscriptionSql = `select s.channel, exists (select from pg_attribute a
    where a.attrelid = c.oid and a.attgenerated = 'v' and not a.attisdropped) as virtual
  from pg_class c join pg_namespace n on n.oid = c.relnamespace join svc.realtime_subscriptions s
    on (s.table_schema = n.nspname and s.table_name = c.relname) or s.table_oid = c.oid
  where c.oid = $1::text::oid order by s.table_schema = n.nspname and s.table_name = c.relname desc limit 1`

/**
 * The source of each watched table's changes: the write-ahead log, if that is configured and has all of them, otherwise
 * triggers. A table moves from one to the other in one transaction, so that no change is missed or reported twice.
 */
export class ChangeTables extends Context.Service<
  ChangeTables,
  {
    /**
     * Publishes a table if its changes should come from the log, and returns whether they do. Runs in a transaction
     * (`WatchedTables.change`), after the subscription or webhook was stored.
     */
    readonly settle: (oid: number) => Effect.Effect<boolean, SqlError.SqlError>
  }
>()("svc/services/ChangeTables") {
  static readonly layer = Layer.effect(
    ChangeTables,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const watched = yield* WatchedTables
      const wal = (yield* changeSource) === "wal"
      const { messages } = yield* (yield* Listener).listen("svc_ddl", "svc_realtime", "svc_change_tables")

      /** Whether a table has, or should have, its changes from the log. */
      const concerned = wal
        ? Effect.succeed(true)
        : Effect.map(sql.unsafe("select from svc.change_tables limit 1"), ({ length }) => length > 0)

      const publish = (table: ChangeTable, name: string) =>
        Effect.gen(function* () {
          if (!table.noted) {
            yield* sql.unsafe(
              `insert into svc.change_tables (table_oid, identity, identity_index) values ($1::text::oid, $2::text::"char", $3)`,
              [String(table.oid), table.identity, table.identity_index]
            )
          }
          // Otherwise old rows would have their key only, and large values that a statement did not change would be
          // missing.
          if (table.identity !== "f") yield* sql.unsafe(`alter table only ${name} replica identity full`)
          for (const trigger of table.triggers) yield* sql.unsafe(`drop trigger ${quoteName(trigger)} on ${name}`)
          if (!table.published) yield* sql.unsafe(`alter publication ${logPublication} add table only ${name}`)
        })

      const withdraw = (table: ChangeTable, name: string) =>
        Effect.gen(function* () {
          if (table.published) yield* sql.unsafe(`alter publication ${logPublication} drop table only ${name}`)
          yield* sql.unsafe("delete from svc.change_tables where table_oid = $1::text::oid", [String(table.oid)])
          if (table.identity === "f" && table.former !== null && table.former !== "f") {
            const index = yield* sql.unsafe<{ readonly there: boolean }>(
              "select to_regclass($1) is not null as there",
              [table.former_index]
            )
            const usable = table.former === "i" && index[0]?.there === true
            const former = usable ? `using index ${table.former_index}` : table.former === "n" ? "nothing" : "default"
            yield* sql.unsafe(`alter table only ${name} replica identity ${former}`)
          }
          const [hooks] = yield* sql.unsafe<WebhookTable>(webhookTableSql, [String(table.oid)])
          if (hooks !== undefined) for (const text of triggerChanges(hooks)) yield* sql.unsafe(text)
          const [feed] = yield* sql.unsafe<{ readonly channel: string; readonly virtual: boolean }>(subscriptionSql, [
            String(table.oid)
          ])
          if (feed === undefined) return
          yield* sql.unsafe(createTriggerSql(table.schema, table.name, feed.channel, table.oid, feed.virtual))
        })

      const settle = (oid: number) =>
        Effect.gen(function* () {
          if (!(yield* concerned)) return false
          yield* sql.unsafe(lockSourceSql, [String(oid)])
          const [table] = yield* sql.unsafe<ChangeTable>(changeTableSql, [wal, String(oid)])
          if (table === undefined) return false
          const name = `${quoteName(table.schema)}.${quoteName(table.name)}`
          if (table.should) yield* publish(table, name)
          else if (table.noted || table.published) yield* withdraw(table, name)
          return table.should
        })

      const round = Effect.gen(function* () {
        if (!(yield* concerned)) return
        yield* sql.unsafe(
          `delete from svc.change_tables t where not exists (select from pg_class where oid = t.table_oid)`
        )
        for (const { name, oid, schema } of yield* sql.unsafe<ChangeTable>(changedTablesSql, [wal])) {
          yield* watched
            .change(settle(oid))
            .pipe(
              Effect.catch((error) =>
                Effect.logWarning(
                  `Failed to change the source of changes of ${schema}.${name}, will retry: ${error.error}`
                )
              )
            )
        }
      }).pipe(onOwnTables)

      // A burst of DDL causes one round, not many.
      const rounds = yield* Queue.sliding<void>(1)
      yield* messages.pipe(
        Stream.runForEach(() => Queue.offer(rounds, undefined)),
        Effect.forkScoped
      )
      yield* Effect.timeoutOption(Queue.take(rounds), "1 minute").pipe(
        Effect.andThen(round),
        Effect.catchCause(logFailure("Failed to reconcile the sources of changes")),
        Effect.repeat(Schedule.spaced("100 millis")),
        Effect.forkScoped
      )

      return ChangeTables.of({ settle })
    })
  )
}
