import { Context, Effect, Layer, Queue, Schedule, Schema, Stream } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { type Conflict, type Forbidden, type InvalidRequest, NotFound, type Unavailable } from "../../domain/errors.ts"
import {
  RealtimeSubscription,
  type RealtimeTable,
  channelOf,
  createTriggerSql,
  dropTriggerSql,
  rowSecurityWarnings
} from "../../domain/realtime/Subscription.ts"
import { isDistributedSql } from "../../domain/sql/Citus.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { audited, recordChange } from "../audit/Change.ts"
import { type WatchedTable, WatchedTables } from "../changes/WatchedTables.ts"
import { ChangeTables } from "../changes/Tables.ts"
import { onOwnTables, logFailure } from "../OwnTables.ts"
import { Listener } from "../ports/Listener.ts"
import { hasPolicySql } from "./Access.ts"
import { Realtime } from "./Realtime.ts"

/**
 * Whether a table, given by an SQL expression for its oid, has virtual generated columns, which its trigger must
 * handle.
 */
const hasVirtualSql = (oid: string) =>
  `exists (select from pg_attribute where attrelid = ${oid} and attgenerated = 'v')`

/**
 * Each subscription `s` with the table of its name `here`, the table it was created for `there`, its trigger `t`, and
 * `l` if its changes come from the write-ahead log instead (services/changes).
 */
const subscriptions = `svc.realtime_subscriptions s
  left join pg_namespace n on n.nspname = s.table_schema
  left join pg_class here on here.relnamespace = n.oid and here.relname = s.table_name and here.relkind in ('r', 'p')
  left join pg_class there on there.oid = s.table_oid and there.relkind in ('r', 'p')
  left join pg_namespace tn on tn.oid = there.relnamespace
  left join pg_trigger t on t.tgrelid = coalesce(here.oid, there.oid) and t.tgname = s.channel
    and t.tgfoid = 'svc.notify_row_change'::regproc
    and t.tgargs = convert_to(s.channel, getdatabaseencoding()) || '\\000'::bytea
      || convert_to(t.tgrelid::text, 'UTF8') || '\\000'::bytea
      || case when ${hasVirtualSql("t.tgrelid")} then 'virtual\\000'::bytea else ''::bytea end
  left join svc.change_tables l on l.table_oid = coalesce(here.oid, there.oid)`

/** `RealtimeSubscription`s. */
const listSql = (where = "true") => `select s.id, s.table_schema as schema, s.table_name as table, s.channel,
    case when here.oid is null and there.oid is null then 'table_missing'
         when here.oid is null then 'table_renamed'
         when ${isDistributedSql("here.oid")} then 'table_distributed'
         when l.table_oid is not null then 'active'
         when t.oid is null then 'trigger_missing'
         when t.tgenabled in ('D', 'R') then 'trigger_disabled'
         else 'active' end as status,
    case when here.oid is null then quote_ident(tn.nspname) || '.' || quote_ident(there.relname) end as renamed_to,
    case when coalesce(here.relrowsecurity, there.relrowsecurity) is not true then null
         when not has_schema_privilege('authenticated', coalesce(here.relnamespace, there.relnamespace), 'usage')
           or not has_table_privilege('authenticated', coalesce(here.oid, there.oid), 'select')
           or not ${hasPolicySql("coalesce(here.oid, there.oid)")}
           then '${rowSecurityWarnings.noGrant}'
         when not exists (select from pg_index i where i.indrelid = coalesce(here.oid, there.oid) and i.indisprimary)
           then '${rowSecurityWarnings.noKey}'
         else '${rowSecurityWarnings.policies}' end as warning,
    ${isoSql("s.created_at")} as created_at
  from ${subscriptions} where ${where} order by s.id`

/** Triggers of the service, `stray`, that belong to no subscription. */
const straySql = (where = "true") => `select n.nspname::text as schema, c.relname::text as table,
    stray.tgname::text as trigger, stray.oid::text as oid, stray.tgrelid::text as "tableOid"
  from pg_trigger stray join pg_class c on c.oid = stray.tgrelid join pg_namespace n on n.oid = c.relnamespace
  where stray.tgfoid = 'svc.notify_row_change'::regproc and stray.tgparentid = 0 and ${where}
    and not exists (select from ${subscriptions} where t.oid = stray.oid)`

interface Stray {
  readonly schema: string
  readonly table: string
  readonly trigger: string
  readonly oid: string
  readonly tableOid: string
}

/**
 * The tables whose changes are published (spec: Realtime). The stored subscriptions decide; triggers are reconciled with
 * them on every change of a subscription, at start, after DDL and once a minute, so that tables that were dropped,
 * restored or renamed are repaired or reported.
 */
export class RealtimeSubscriptions extends Context.Service<
  RealtimeSubscriptions,
  {
    readonly list: Effect.Effect<ReadonlyArray<RealtimeSubscription>, Unavailable>
    readonly tables: Effect.Effect<ReadonlyArray<RealtimeTable>, Unavailable>
    /** `created` is false if it already existed. Once it returns, this process receives the table's changes. */
    readonly subscribe: (
      schema: string,
      table: string
    ) => Effect.Effect<
      { readonly subscription: RealtimeSubscription; readonly created: boolean },
      NotFound | InvalidRequest | Conflict | Forbidden | Unavailable
    >
    readonly unsubscribe: (schema: string, table: string) => Effect.Effect<void, NotFound | Unavailable>
  }
>()("svc/services/RealtimeSubscriptions") {
  static readonly layer = Layer.effect(
    RealtimeSubscriptions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const watched = yield* WatchedTables
      const sources = yield* ChangeTables
      const realtime = yield* Realtime
      const { messages } = yield* (yield* Listener).listen("svc_ddl", "svc_realtime")

      const select = (text: string, params: ReadonlyArray<unknown> = []) =>
        SqlSchema.findAll({
          Request: Schema.Void,
          Result: RealtimeSubscription,
          execute: () => sql.unsafe(text, params)
        })().pipe(onOwnTables)

      const list = select(listSql())

      const tables = Effect.gen(function* () {
        const subscribed = new Set((yield* list).map(({ schema, table }) => JSON.stringify([schema, table])))
        return (yield* watched.list).map(({ name, schema }) => ({
          schema,
          table: name,
          subscribed: subscribed.has(JSON.stringify([schema, name]))
        }))
      })

      // One change at a time for each table: several that wait for its lock would block writers for the sum of their waits.
      const key = (oid: string) => sql`hashtextextended(${`svc realtime ${oid}`}, 0)`
      const lock = (oid: string) => sql`select pg_advisory_xact_lock(${key(oid)})`
      /** False while another process or another round holds the lock. */
      const tryLock = (oid: string) =>
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
          if (yield* sources.settle(oid)) return made[0]?.["created"] === true
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
            : yield* watched.change(
                Effect.andThen(lock(String(table.oid)), put(table)).pipe(
                  Effect.tap(() => recordChange(sql, { subject: `table:${schema}.${name}` }))
                )
              )
        yield* realtime.follow
        const [subscription] = yield* select(listSql("s.table_schema = $1 and s.table_name = $2"), [schema, name])
        if (subscription === undefined) return yield* notSubscribed(schema, name) // unsubscribed in the meantime
        return { subscription, created }
      })

      const drop = ({ oid, schema, table, tableOid, trigger }: Stray) =>
        Effect.gen(function* () {
          if (!(yield* tryLock(tableOid))) return
          const stray = yield* sql.unsafe(straySql("stray.oid = $1::text::oid"), [oid])
          if (stray.length > 0) yield* sql.unsafe(dropTriggerSql(schema, table, trigger))
        }).pipe(
          watched.change,
          // Harmless: no process listens on its channel any more.
          Effect.catch((error) =>
            Effect.logWarning(`Failed to drop trigger ${trigger} of ${schema}.${table}, will retry: ${error.error}`)
          )
        )

      const dropStray = Effect.gen(function* () {
        for (const stray of yield* onOwnTables(sql.unsafe<Stray>(straySql()))) yield* drop(stray)
      })

      const unsubscribe = Effect.fn("RealtimeSubscriptions.unsubscribe")(function* (schema: string, name: string) {
        const gone = yield* onOwnTables(
          audited(
            sql,
            sql`delete from svc.realtime_subscriptions where table_schema = ${schema} and table_name = ${name} returning id`,
            (rows) => (rows.length === 0 ? undefined : { subject: `table:${schema}.${name}` })
          )
        )
        if (gone.length === 0) return yield* notSubscribed(schema, name)
        yield* dropStray
        yield* realtime.follow
      })

      const restore = (table: WatchedTable) =>
        Effect.gen(function* () {
          if (!(yield* tryLock(String(table.oid)))) return
          const still = yield* sql`select from svc.realtime_subscriptions
            where table_schema = ${table.schema} and table_name = ${table.name} for update`
          if (still.length > 0) yield* put(table)
        })

      const reconcile = Effect.gen(function* () {
        for (const { schema, status, table } of yield* list) {
          if (status !== "trigger_missing") continue
          yield* watched.find(schema, table).pipe(
            Effect.flatMap((found) => watched.change(restore(found))),
            Effect.catch((error) =>
              Effect.logWarning(
                `Failed to create the realtime trigger on ${schema}.${table}, will retry: ${error.error}`
              )
            )
          )
        }
        // Last: outdated triggers have been replaced by then, so that no row was missed.
        yield* dropStray
      })

      // A burst of DDL causes one round, not many.
      const rounds = yield* Queue.sliding<void>(1)
      yield* messages.pipe(
        Stream.runForEach(() => Queue.offer(rounds, undefined)),
        Effect.forkScoped
      )
      yield* Queue.take(rounds).pipe(
        Effect.timeoutOption("1 minute"),
        Effect.andThen(reconcile),
        Effect.catchCause(logFailure("Failed to reconcile realtime triggers")),
        Effect.repeat(Schedule.spaced("100 millis")),
        Effect.forkScoped
      )

      return RealtimeSubscriptions.of({ list, tables, subscribe, unsubscribe })
    })
  )
}

const notSubscribed = (schema: string, table: string) =>
  new NotFound({ error: `${schema}.${table} has no subscription`, code: "SUBSCRIPTION_NOT_FOUND" })
