import { Context, Effect, Layer, Queue, Schedule, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { type Forbidden, type InvalidRequest, NotFound, type Unavailable } from "../../domain/errors.ts"
import { channelOf } from "../../domain/realtime/Event.ts"
import { type RealtimeSubscription, type RealtimeTable } from "../../domain/realtime/Subscription.ts"
import { createTriggerSql, dropTriggerSql, hasVirtualSql, listSql, straySql } from "../../domain/realtime/TriggerSql.ts"
import { Listener } from "../ports/Listener.ts"
import { onOwnTables } from "../OwnTables.ts"
import { Realtime } from "./Realtime.ts"
import { type WatchedTable, WatchedTables } from "../catalogue/WatchedTables.ts"

interface Stray {
  readonly schema: string
  readonly table: string
  readonly trigger: string
  readonly oid: string
  readonly tableOid: string
}

/**
 * Which tables are told of (spec: Realtime). What is stored decides; each table's one trigger is made and removed after
 * it: at once, and again at start, after DDL and once a minute, so that what was dropped, restored or renamed underneath
 * is put right or reported.
 */
export class RealtimeSubscriptions extends Context.Service<
  RealtimeSubscriptions,
  {
    readonly list: Effect.Effect<ReadonlyArray<RealtimeSubscription>, Unavailable>
    readonly tables: Effect.Effect<ReadonlyArray<RealtimeTable>, Unavailable>
    /** `created` is false when it was there already. From then on this process hears the table. */
    readonly subscribe: (
      schema: string,
      table: string
    ) => Effect.Effect<
      { readonly subscription: RealtimeSubscription; readonly created: boolean },
      NotFound | InvalidRequest | Forbidden | Unavailable
    >
    readonly unsubscribe: (schema: string, table: string) => Effect.Effect<void, NotFound | Unavailable>
  }
>()("svc/services/RealtimeSubscriptions") {
  static readonly layer = Layer.effect(
    RealtimeSubscriptions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const watched = yield* WatchedTables
      const realtime = yield* Realtime
      const { messages } = yield* (yield* Listener).listen("svc_ddl", "svc_realtime")

      const list = onOwnTables(sql.unsafe<RealtimeSubscription>(listSql()))

      const tables = Effect.gen(function* () {
        const subscribed = new Set((yield* list).map(({ schema, table }) => JSON.stringify([schema, table])))
        return (yield* watched.list).map(({ name, schema }) => ({
          schema,
          table: name,
          subscribed: subscribed.has(JSON.stringify([schema, name]))
        }))
      })

      // One at a time for each table: several that wait for the same one would add up to a long wait for writers.
      const key = (oid: string) => sql`hashtextextended(${`svc realtime ${oid}`}, 0)`
      const turn = (oid: string) => sql`select pg_advisory_xact_lock(${key(oid)})`
      /** False: another process, or another round, is at it. */
      const tryTurn = (oid: string) =>
        Effect.map(sql`select pg_try_advisory_xact_lock(${key(oid)}) as mine`, ([row]) => row?.["mine"] === true)

      const put = ({ name, oid, schema }: WatchedTable) =>
        Effect.gen(function* () {
          const channel = channelOf(schema, name)
          const made = yield* sql`
            insert into svc.realtime_subscriptions (table_schema, table_name, table_oid, channel)
            values (${schema}, ${name}, ${String(oid)}::text::oid, ${channel})
            on conflict (table_schema, table_name)
              do update set table_oid = excluded.table_oid, channel = excluded.channel
            returning (xmax = 0) as created`
          const [has] = yield* sql.unsafe<{ virtual: boolean }>(`select ${hasVirtualSql("$1::oid")} as virtual`, [oid])
          yield* sql.unsafe(createTriggerSql(schema, name, channel, oid, has?.virtual === true))
          return made[0]?.["created"] === true
        })

      const subscribe = Effect.fn("RealtimeSubscriptions.subscribe")(function* (schema: string, name: string) {
        const before = (yield* list).find((one) => one.schema === schema && one.table === name)
        const table = yield* watched.find(schema, name)
        const created =
          before?.status === "active"
            ? false
            : yield* watched.change(Effect.andThen(turn(String(table.oid)), put(table)))
        yield* realtime.follow
        const after = yield* onOwnTables(
          sql.unsafe<RealtimeSubscription>(listSql("s.table_schema = $1 and s.table_name = $2"), [schema, name])
        )
        if (after[0] === undefined) return yield* notSubscribed(schema, name) // unsubscribed in between
        return { subscription: after[0], created }
      })

      const drop = ({ oid, schema, table, tableOid, trigger }: Stray) =>
        Effect.gen(function* () {
          if (!(yield* tryTurn(tableOid))) return
          const stray = yield* sql.unsafe(straySql("stray.oid = $1::text::oid"), [oid])
          if (stray.length > 0) yield* sql.unsafe(dropTriggerSql(schema, table, trigger))
        }).pipe(
          watched.change,
          // Nobody listens to it any more; the next round tries again.
          Effect.catch((error) =>
            Effect.logWarning(`Trigger ${trigger} of ${schema}.${table} stays for now: ${error.error}`)
          )
        )

      const dropStray = Effect.gen(function* () {
        for (const stray of yield* onOwnTables(sql.unsafe<Stray>(straySql()))) yield* drop(stray)
      })

      const unsubscribe = Effect.fn("RealtimeSubscriptions.unsubscribe")(function* (schema: string, name: string) {
        const gone = yield* onOwnTables(
          sql`delete from svc.realtime_subscriptions where table_schema = ${schema} and table_name = ${name} returning id`
        )
        if (gone.length === 0) return yield* notSubscribed(schema, name)
        yield* dropStray
        yield* realtime.follow
      })

      const mend = (table: WatchedTable) =>
        Effect.gen(function* () {
          if (!(yield* tryTurn(String(table.oid)))) return
          const still = yield* sql`select from svc.realtime_subscriptions
            where table_schema = ${table.schema} and table_name = ${table.name} for update`
          if (still.length > 0) yield* put(table)
        })

      const repair = Effect.gen(function* () {
        for (const { schema, status, table } of yield* list) {
          if (status !== "trigger_missing") continue
          yield* watched.find(schema, table).pipe(
            Effect.flatMap((found) => watched.change(mend(found))),
            Effect.catch((error) => Effect.logWarning(`Realtime of ${schema}.${table} is not there: ${error.error}`))
          )
        }
        // Last: what is only defined otherwise has been replaced, and not a row of it missed.
        yield* dropStray
      })

      // A storm of DDL is one round, not many.
      const rounds = yield* Queue.sliding<void>(1)
      yield* messages.pipe(
        Stream.runForEach(() => Queue.offer(rounds, undefined)),
        Effect.forkScoped
      )
      yield* Queue.take(rounds).pipe(
        Effect.timeoutOption("1 minute"),
        Effect.andThen(repair),
        Effect.catchCause((cause) => Effect.logWarning("Realtime triggers could not be looked after", cause)),
        Effect.repeat(Schedule.spaced("100 millis")),
        Effect.forkScoped
      )

      return RealtimeSubscriptions.of({ list, tables, subscribe, unsubscribe })
    })
  )
}

const notSubscribed = (schema: string, table: string) =>
  new NotFound({ error: `There is no subscription to ${schema}.${table}`, code: "SUBSCRIPTION_NOT_FOUND" })
