import { Clock, Context, DateTime, Effect, Latch, Layer, PubSub, Schedule, type Scope, Semaphore, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { logChannel } from "../../domain/changes/LogSql.ts"
import { Pieces } from "../../domain/changes/Pieces.ts"
import { TooManyRequests, Unavailable } from "../../domain/errors.ts"
import { type EventText, RealtimeLog, eventText, gapText, parseNotification } from "../../domain/realtime/Event.ts"
import { type RealtimeStatus, channelOf } from "../../domain/realtime/Subscription.ts"
import { onOwnTables, logFailure } from "../OwnTables.ts"
import { Listener, type ListenerMessage } from "../ports/Listener.ts"
import { sampleOf } from "../../domain/metrics/Sample.ts"
import { CurrentMeters } from "../metrics/Meters.ts"
import { Counts } from "../ports/workers/Counts.ts"
import { Peers } from "../ports/workers/Peers.ts"
import { makeRealtimeAccess } from "./Access.ts"
import { type RealtimeClient, RealtimeClients } from "./Clients.ts"
import { makePolicyFeed } from "./PolicyFeed.ts"
import { RealtimeSettings } from "./Settings.ts"

const ownChannel = "svc_realtime"
/** The database's clock may be up to an hour ahead of this process's. */
const clockSkewMicros = 3_600_000_000
/** The longest time by which a replica may be behind another one. */
const behind = "10 seconds"

/** What happens in the feed: an event, or a gap with the id up to which events may be missing. */
export type FeedMessage =
  | { readonly _tag: "Event"; readonly event: EventText }
  | { readonly _tag: "Gap"; readonly id: number; readonly text: string }

/**
 * The feed: each notification of a row change gets an id, is kept in the log, and is published to the subscribers of
 * the process: the loop that sends to clients (spec: Realtime events), and the channels of Supabase's clients. Each replica receives all notifications.
 */
export class Realtime extends Context.Service<
  Realtime,
  {
    /**
     * Sends all events from now on to a client, until the scope closes. Returns the events after its `since` as JSON
     * texts, oldest first, which must reach the client before any that are sent. 503 `TOO_MANY_CLIENTS` above
     * SVC_REALTIME_MAX_CLIENTS, 429 `TOO_MANY_CONNECTIONS` above SVC_REALTIME_MAX_PER_CLIENT.
     */
    readonly connect: (
      client: RealtimeClient
    ) => Effect.Effect<ReadonlyArray<string>, TooManyRequests | Unavailable, Scope.Scope>
    /** Takes a place among the connected clients until the scope closes; fails as `connect` does. */
    readonly takePlace: (client: string) => Effect.Effect<void, TooManyRequests | Unavailable, Scope.Scope>
    /** Subscribes to all that happens from now on, until the scope closes. */
    readonly feed: Effect.Effect<PubSub.Subscription<FeedMessage>, never, Scope.Scope>
    /** JSON texts, newest first; with `since` only later events, followed by a gap if some are missing. */
    readonly recent: (since?: number) => Effect.Effect<ReadonlyArray<string>>
    /** Empties the log, in every replica. */
    readonly clear: Effect.Effect<void, Unavailable>
    /** Joins the channels of the current subscriptions and leaves all others, in every worker. */
    readonly follow: Effect.Effect<void, Unavailable>
    readonly status: Effect.Effect<RealtimeStatus>
    /** Makes `closed` complete: clients disconnect because the service is shutting down. */
    readonly close: Effect.Effect<void>
    readonly closed: Effect.Effect<void>
  }
>()("svc/services/Realtime") {
  static readonly layer = Layer.effect(
    Realtime,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const listener = yield* Listener
      const access = yield* makeRealtimeAccess
      const { maxClients, maxPerClient, open } = yield* RealtimeSettings
      const clock = yield* Clock.Clock
      const clients = new RealtimeClients(open)
      const policyFeed = yield* makePolicyFeed(clients, access)
      const places = (yield* Counts).realtimeClients()
      const peers = yield* Peers
      const closing = yield* Latch.make(false)
      const log = new RealtimeLog()
      const pieces = new Pieces()
      const joined = new Set<string>()
      const feed = yield* Effect.acquireRelease(PubSub.unbounded<FeedMessage>(), PubSub.shutdown)

      const channels = yield* listener.listen(ownChannel, "svc_ddl", logChannel)

      const following = yield* Semaphore.make(1)
      const followHere = Effect.gen(function* () {
        const rows = yield* onOwnTables(
          sql<{ s: string; t: string }>`select table_schema as s, table_name as t from svc.realtime_subscriptions`
        )
        const wanted = new Set(rows.map(({ s, t }) => channelOf(s, t)))
        for (const channel of joined) if (!wanted.has(channel)) yield* channels.leave(channel)
        for (const channel of wanted) if (!joined.has(channel)) yield* channels.join(channel)
        joined.clear()
        for (const channel of wanted) joined.add(channel)
      }).pipe(following.withPermit)
      yield* peers.on("realtime-channels", () => followHere)
      const follow = Effect.andThen(followHere, peers.notify("realtime-channels", ""))

      /** The database's clock in µs, or this machine's if the database does not respond. */
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
          PubSub.publishUnsafe(feed, { _tag: "Gap", id: log.newest, text: gapText(since, log.oldest) })
        })

      const notified = Effect.fnUntraced(function* (payload: string) {
        const row = parseNotification(payload)
        if (row === undefined) return
        // Any session that may run SQL may NOTIFY; a forged time must not shift the ids of all later events.
        const at = Math.min(row.micros, clock.currentTimeMillisUnsafe() * 1000 + clockSkewMicros)
        if (row.gap) yield* missed(at)
        if (row.gap) return
        const event = eventText(row, log.nextId(at))
        log.add(event)
        PubSub.publishUnsafe(feed, { _tag: "Event", event })
      })

      const send = Effect.fnUntraced(function* (message: FeedMessage) {
        if (message._tag === "Gap") return clients.sendGap(message.id, message.text)
        const { event } = message
        const readers = clients.limited ? yield* access.readers(event.schema, event.table) : undefined
        clients.sendEvent(event, readers)
        if (readers !== undefined) policyFeed.send(event, readers)
        // Sockets are written and other work continues between the events of a burst.
        yield* Effect.yieldNow
      })
      yield* Stream.fromSubscription(yield* PubSub.subscribe(feed)).pipe(
        Stream.runForEach((message) => Effect.catchCause(send(message), logFailure("Failed to send an event"))),
        Effect.forkScoped
      )

      const handle = Effect.fnUntraced(function* (message: ListenerMessage) {
        if (message._tag === "Lost") return
        if (message._tag === "Connected") {
          yield* access.forget
          yield* Effect.retry(followHere, Schedule.spaced("500 millis"))
          yield* missed(yield* micros)
        } else if (message.channel === "svc_ddl") {
          yield* access.forget
        } else if (message.channel === ownChannel) {
          if (message.payload === "clear-log") log.clear()
          else yield* followHere
        } else {
          const text = message.channel === logChannel ? pieces.add(message.payload) : message.payload
          if (text !== undefined) yield* notified(text)
        }
      })

      yield* channels.messages.pipe(
        Stream.runForEach((message) =>
          Effect.catchCause(handle(message), logFailure("Failed to publish a notification"))
        ),
        Effect.forkScoped
      )

      /** The events that a client may receive, as JSON texts; and whether the list is complete. */
      const select = Effect.fnUntraced(function* (client: RealtimeClient, events: ReadonlyArray<EventText>) {
        if (clients.isJudged(client)) return yield* policyFeed.select(events, client.actor)
        const { role } = client.actor
        let complete = true
        const some = yield* Effect.filter(events, ({ schema, table }) =>
          role === "service_role" || !clients.isLimited(client)
            ? Effect.succeed(true)
            : Effect.map(access.readers(schema, table), (readers) => {
                complete &&= readers.known
                return readers[role]
              })
        )
        return { texts: some.map(({ text }) => text), complete }
      })

      /** Places that were taken in this process. */
      let taken = 0
      const meters = yield* CurrentMeters
      yield* meters.sample(() => [
        sampleOf("svc_realtime_clients", {}, taken),
        sampleOf("svc_realtime_messages_total", {}, clients.sent)
      ])
      const takePlace = (client: string) =>
        Effect.acquireRelease(
          Effect.suspend((): Effect.Effect<void, TooManyRequests | Unavailable> => {
            const place = places.enter(client, { all: maxClients, client: maxPerClient })
            if (place === "full") return Effect.fail(tooMany(maxClients))
            if (place === "client") return Effect.fail(tooManyOfOne(maxPerClient))
            taken++
            return Effect.void
          }),
          () =>
            Effect.sync(() => {
              taken--
              places.leave(client)
            })
        )

      const connect = Effect.fnUntraced(function* (client: RealtimeClient) {
        const { since } = client
        yield* takePlace(client.client)
        // Both happen in one step: earlier events are in the log, and only those with a later id are sent to this client.
        const replay = yield* Effect.acquireRelease(
          Effect.sync(() => {
            clients.add(client, log.newest)
            return since === undefined ? undefined : log.since(since)
          }),
          () => Effect.sync(() => clients.remove(client))
        )
        if (since === undefined || replay === undefined) return []
        if (clients.isAhead(client))
          yield* Effect.sync(() => clients.catchUp(client, log.newest)).pipe(Effect.delay(behind), Effect.forkScoped)
        const { complete, texts } = yield* select(client, replay.events)
        const gap = complete ? replay.gap : Math.max(since, replay.events.at(-1)?.id ?? 0)
        return gap === undefined ? texts : [gapText(since, gap), ...texts]
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
        connected_clients: places.taken(),
        event_log_size: log.size
      }))

      return Realtime.of({
        connect,
        takePlace,
        feed: PubSub.subscribe(feed),
        recent,
        clear,
        follow,
        status,
        close: Effect.asVoid(closing.open),
        closed: closing.await
      })
    })
  )
}

const tooManyOfOne = (maxPerClient: number) =>
  new TooManyRequests({
    error: `The limit of ${maxPerClient} connections of one client is reached; close others first`,
    code: "TOO_MANY_CONNECTIONS",
    hint: "SVC_REALTIME_MAX_PER_CLIENT sets the limit for one user, or one API key at one address",
    retry_after: 5
  })

const tooMany = (maxClients: number) =>
  new Unavailable({
    error: `The limit of ${maxClients} connected clients is reached; retry later`,
    code: "TOO_MANY_CLIENTS",
    retry_after: 5
  })
