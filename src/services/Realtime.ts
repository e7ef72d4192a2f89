import { Clock, Context, DateTime, Effect, Latch, Layer, PubSub, Schedule, type Scope, Semaphore, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { Unavailable } from "../domain/errors.ts"
import { channelOf, type EventText, eventText, gapText, parseNotification } from "../domain/RealtimeEvent.ts"
import { RealtimeLog } from "../domain/RealtimeLog.ts"
import { type RealtimeStatus } from "../domain/RealtimeStatus.ts"
import { type Actor } from "./Db.ts"
import { type Heard, Listener } from "./Listener.ts"
import { onOwnTables } from "./OwnTables.ts"
import { RealtimeAccess, type Readers } from "./RealtimeAccess.ts"
import { RealtimeSettings } from "./RealtimeSettings.ts"

/** Who listens, and from where on. */
export interface RealtimeClient {
  readonly role: Actor["role"]
  /** The last event this client knows; undefined: from now on, and nothing is said of gaps. */
  readonly since: number | undefined
}

interface Published {
  readonly _tag: "Event"
  readonly event: EventText
  /** Undefined while only service_role keys listen: then nobody has asked. */
  readonly readers: Readers | undefined
}

interface Gap {
  readonly _tag: "Gap"
  readonly text: string
}

/** Between the one who hears and the many who are told; none of these waits for a socket. */
const hubCapacity = 1024
const ownChannel = "svc_realtime"

/**
 * The feed: what PostgreSQL notifies, given an id, kept in the log, told to every client (spec: Realtime events).
 * Each replica hears and tells everything.
 */
export class Realtime extends Context.Service<
  Realtime,
  {
    /**
     * A client until the scope closes: JSON texts, oldest first. 503 `TOO_MANY_CLIENTS` above
     * SVC_REALTIME_MAX_CLIENTS.
     */
    readonly connect: (
      client: RealtimeClient
    ) => Effect.Effect<Stream.Stream<ReadonlyArray<string>>, Unavailable, Scope.Scope>
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
      const hub = yield* Effect.acquireRelease(PubSub.bounded<Published | Gap>(hubCapacity), PubSub.shutdown)
      const ending = yield* Latch.make(false)
      const log = new RealtimeLog()
      const joined = new Set<string>()
      let clients = 0
      /** Those that are not told everything. */
      let limited = 0

      const ear = yield* listener.listen(ownChannel, "svc_ddl")

      const following = yield* Semaphore.make(1)
      const follow = Effect.gen(function* () {
        const rows = yield* onOwnTables(
          sql<{ s: string; t: string }>`select table_schema as s, table_name as t from svc.realtime_subscriptions`
        )
        const wanted = new Set(rows.map(({ s, t }) => channelOf(s, t)))
        for (const channel of joined) if (!wanted.has(channel)) yield* ear.leave(channel)
        for (const channel of wanted) if (!joined.has(channel)) yield* ear.join(channel)
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
        Effect.suspend(() => {
          const since = log.newest
          log.missed(from)
          return PubSub.publish(hub, { _tag: "Gap", text: gapText(since, log.oldest) })
        })

      const notified = Effect.fnUntraced(function* (payload: string) {
        const row = parseNotification(payload)
        if (row?.gap === true) yield* missed(row.micros)
        if (row === undefined || row.gap) return
        const readers = limited > 0 && !open ? yield* access.readers(row.schema, row.table) : undefined
        const event = eventText(row, log.nextId(row.micros))
        log.add(event)
        yield* PubSub.publish(hub, { _tag: "Event", event, readers })
      })

      const hear = Effect.fnUntraced(function* (heard: Heard) {
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

      yield* ear.heard.pipe(
        Stream.runForEach((heard) =>
          Effect.catchCause(hear(heard), (cause) => Effect.logError("A notification was not passed on", cause))
        ),
        Effect.forkScoped
      )

      const mayHear = (role: Actor["role"], { event, readers }: Published) => {
        if (role === "service_role" || open) return Effect.succeed(true)
        if (readers !== undefined) return Effect.succeed(readers[role])
        return Effect.map(access.readers(event.schema, event.table), (found) => found[role])
      }

      const textsFor = (role: Actor["role"], all: ReadonlyArray<Published>) =>
        Effect.map(
          Effect.filter(all, (one) => mayHear(role, one)),
          (some) => some.map(({ event }) => event.text)
        )

      const count = (role: Actor["role"]) =>
        Effect.acquireRelease(
          Effect.suspend(() => {
            if (clients >= maxClients) return Effect.fail(tooMany(maxClients))
            clients++
            if (role !== "service_role") limited++
            return Effect.void
          }),
          () =>
            Effect.sync(() => {
              clients--
              if (role !== "service_role") limited--
            })
        )

      const connect = Effect.fnUntraced(function* ({ role, since }: RealtimeClient) {
        yield* count(role)
        const subscription = yield* PubSub.subscribe(hub)
        // No step between these two lets anything be published.
        const known = log.newest
        const replay = since === undefined ? undefined : log.since(since)
        const old = (replay?.events ?? []).map((event): Published => ({ _tag: "Event", event, readers: undefined }))
        const before = yield* textsFor(role, old)
        const gap = replay?.gap === undefined ? [] : [gapText(since ?? 0, replay.gap)]
        const take = Effect.gen(function* () {
          const some = yield* PubSub.takeAll(subscription)
          const texts: Array<string> = []
          for (const one of some) {
            if (one._tag === "Gap") {
              if (since !== undefined) texts.push(one.text)
            } else if (one.event.id > known && (yield* mayHear(role, one))) texts.push(one.event.text)
          }
          return texts
        })
        const live = Stream.fromEffectRepeat(take)
        return Stream.concat(Stream.make([...gap, ...before]), live).pipe(Stream.filter((texts) => texts.length > 0))
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
        connected_clients: clients,
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
