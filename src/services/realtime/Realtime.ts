import { Clock, Context, DateTime, Effect, Latch, Layer, Schedule, type Scope, Semaphore, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { Unavailable } from "../../domain/errors.ts"
import { channelOf, type EventText, eventText, gapText, parseNotification } from "../../domain/realtime/Event.ts"
import { RealtimeLog } from "../../domain/realtime/Log.ts"
import { type RealtimeStatus } from "../../domain/realtime/Status.ts"
import { type ListenerMessage, Listener } from "../ports/Listener.ts"
import { onOwnTables } from "../OwnTables.ts"
import { RealtimeAccess } from "./Access.ts"
import { type RealtimeClient, RealtimeClients } from "./Clients.ts"
import { RealtimeSettings } from "./Settings.ts"

const ownChannel = "svc_realtime"
/** The database's clock may be ahead of ours by an hour. */
const clockSkewMicros = 3_600_000_000

/**
 * The feed: what PostgreSQL notifies, given an id, kept in the log, told to every client (spec: Realtime events).
 * Each replica hears and tells everything.
 */
export class Realtime extends Context.Service<
  Realtime,
  {
    /**
     * Tells a client everything from now on, until the scope closes. Gives what came before, if it names `since`:
     * JSON texts, oldest first, meant to be read before anything it is told. 503 `TOO_MANY_CLIENTS` above
     * SVC_REALTIME_MAX_CLIENTS.
     */
    readonly connect: (client: RealtimeClient) => Effect.Effect<ReadonlyArray<string>, Unavailable, Scope.Scope>
    /** JSON texts, newest first; with `since` only what came after it, and behind them a gap if there is one. */
    readonly recent: (since?: number) => Effect.Effect<ReadonlyArray<string>>
    /** Empties the log, in every replica. */
    readonly clear: Effect.Effect<void, Unavailable>
    /** Joins the channels of the subscriptions there are now, and leaves the others. */
    readonly follow: Effect.Effect<void, Unavailable>
    readonly status: Effect.Effect<RealtimeStatus>
    /** Asks every client to go, because the service ends. */
    readonly close: Effect.Effect<void>
    /** Done once that was asked. */
    readonly closed: Effect.Effect<void>
  }
>()("svc/services/Realtime") {
  static readonly layer = Layer.effect(
    Realtime,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const listener = yield* Listener
      const access = yield* RealtimeAccess
      const { maxClients, open } = yield* RealtimeSettings
      const clock = yield* Clock.Clock
      const clients = new RealtimeClients(open)
      const ending = yield* Latch.make(false)
      const log = new RealtimeLog()
      const joined = new Set<string>()

      const subscription = yield* listener.listen(ownChannel, "svc_ddl")

      const following = yield* Semaphore.make(1)
      const follow = Effect.gen(function* () {
        const rows = yield* onOwnTables(
          sql<{ s: string; t: string }>`select table_schema as s, table_name as t from svc.realtime_subscriptions`
        )
        const wanted = new Set(rows.map(({ s, t }) => channelOf(s, t)))
        for (const channel of joined) if (!wanted.has(channel)) yield* subscription.leave(channel)
        for (const channel of wanted) if (!joined.has(channel)) yield* subscription.join(channel)
        joined.clear()
        for (const channel of wanted) joined.add(channel)
      }).pipe(following.withPermit)

      /** The database's clock, in µs; that of this machine when it does not answer. */
      const micros = sql<{ now: string }>`
        select (extract(epoch from clock_timestamp()) * 1000000)::int8::text as now`.pipe(
        Effect.map(([row]) => Number(row?.now)),
        Effect.retry({ times: 5, schedule: Schedule.spaced("200 millis") }),
        Effect.catch(() => Effect.sync(() => clock.currentTimeMillisUnsafe() * 1000))
      )

      const missed = (from: number) =>
        Effect.sync(() => {
          const since = log.newest
          log.missed(from)
          clients.tellGap(gapText(since, log.oldest))
        })

      const notified = Effect.fnUntraced(function* (payload: string) {
        const row = parseNotification(payload)
        if (row === undefined) return
        // Anybody who may run SQL may notify, but not set the ids of all that come after.
        const at = Math.min(row.micros, clock.currentTimeMillisUnsafe() * 1000 + clockSkewMicros)
        if (row.gap) yield* missed(at)
        if (row.gap) return
        const readers = clients.limited ? yield* access.readers(row.schema, row.table) : undefined
        const event = eventText(row, log.nextId(at))
        log.add(event)
        clients.tellEvent(event, readers)
        // Many at once: sockets are written to, and everything else goes on, in between.
        yield* Effect.yieldNow
      })

      const hear = Effect.fnUntraced(function* (heard: ListenerMessage) {
        if (heard._tag === "Lost") return
        if (heard._tag === "Connected") {
          yield* access.forget
          yield* Effect.retry(follow, Schedule.spaced("500 millis"))
          yield* missed(yield* micros)
        } else if (heard.channel === "svc_ddl") {
          yield* access.forget
        } else if (heard.channel === ownChannel) {
          if (heard.payload === "clear-log") log.clear()
          else yield* follow
        } else {
          yield* notified(heard.payload)
        }
      })

      yield* subscription.messages.pipe(
        Stream.runForEach((heard) =>
          Effect.catchCause(hear(heard), (cause) => Effect.logError("A notification was not passed on", cause))
        ),
        Effect.forkScoped
      )

      const mayHear = (client: RealtimeClient, { schema, table }: EventText) =>
        client.role === "service_role" || !clients.isLimited(client)
          ? Effect.succeed(true)
          : Effect.map(
              access.readers(schema, table),
              (readers) => client.role !== "service_role" && readers[client.role]
            )

      const connect = Effect.fnUntraced(function* (client: RealtimeClient) {
        const { since } = client
        // In one step: what is told before it is in the log, what is told after it is told to this client.
        const replay = yield* Effect.acquireRelease(
          Effect.suspend(() => {
            if (clients.size >= maxClients) return Effect.fail(tooMany(maxClients))
            clients.add(client)
            return Effect.succeed(since === undefined ? undefined : log.since(since))
          }),
          () => Effect.sync(() => clients.remove(client))
        )
        if (since === undefined || replay === undefined) return []
        const events = yield* Effect.filter(replay.events, (event) => mayHear(client, event))
        const texts = events.map(({ text }) => text)
        return replay.gap === undefined ? texts : [gapText(since, replay.gap), ...texts]
      })

      const recent = (since?: number) =>
        Effect.sync(() => {
          if (since === undefined) return log.all.map(({ text }) => text)
          const { events, gap } = log.since(since)
          const texts = events.map(({ text }) => text).toReversed()
          return gap === undefined ? texts : [...texts, gapText(since, gap)]
        })

      const clear = Effect.suspend(() => {
        log.clear()
        return Effect.asVoid(onOwnTables(sql`select pg_notify(${ownChannel}, 'clear-log')`))
      })

      const status = Effect.map(listener.status, ({ connected, since }): RealtimeStatus => ({
        listener_connected: connected,
        listener_since: DateTime.formatIso(since),
        active_channels: [...joined].sort(),
        connected_clients: clients.size,
        event_log_size: log.size
      }))

      return Realtime.of({
        connect,
        recent,
        clear,
        follow,
        status,
        close: Effect.asVoid(ending.open),
        closed: ending.await
      })
    })
  )
}

const tooMany = (most: number) =>
  new Unavailable({
    error: `${most} clients are connected, which is all this process takes`,
    code: "TOO_MANY_CLIENTS",
    retry_after: 5
  })
