import { Data, DateTime, Effect, Latch, Layer, Queue, Schedule, Semaphore, Stream } from "effect"
import { quoteName } from "../../domain/sql/Names.ts"
import { Listener, type ListenerMessage, type ListenerSubscription } from "../../services/ports/Listener.ts"
import { type Client } from "pg"
import { breakWithPrimary, keptAlive, openClient } from "./client/Client.ts"
import { type Login, ownSearchPath } from "./Login.ts"
import { MainSessions, type Pausable } from "./MainSessions.ts"
import { PostgresAddress } from "./Address.ts"

const backoff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")]).pipe(Schedule.jittered)
/** How often an idle connection is checked. */
const heartbeat = "5 seconds"
/** ms that PostgreSQL may take to answer before the connection counts as lost. */
const queryTimeout = 3_000

class ConnectionLost extends Data.TaggedError("ConnectionLost")<{ readonly message: string }> {}
const lost = (cause: unknown) => new ConnectionLost({ message: cause instanceof Error ? cause.message : String(cause) })

interface Subscriber {
  readonly channels: Set<string>
  readonly queue: Queue.Queue<ListenerMessage>
  /** Was sent `Connected`, and no `Lost` since. */
  connected: boolean
}

/**
 * One connection for all channels of one database; see the port. It uses `pg` rather than sql-pg, because sql-pg has a
 * queue per channel and so loses the order across channels.
 */
export const makeListener = (address: Login) =>
  Effect.gen(function* () {
    const subscribers = new Set<Subscriber>()
    /** Channels of this connection's LISTENs. */
    const joined = new Set<string>()
    const commands = yield* Semaphore.make(1)
    /** Open unless the listener is paused. */
    const allowed = yield* Latch.make(true)
    const paused = yield* Latch.make(false)
    /** Open while there is no connection, and none is being established. */
    const disconnected = yield* Latch.make(true)
    let client: Client | undefined
    let since = yield* DateTime.now
    /** Whether the last attempt established a connection. */
    let established = false

    const wanted = (channel: string) => [...subscribers].some(({ channels }) => channels.has(channel))
    /** Sends `Connected` to subscribers whose channels are all joined. */
    const announceConnected = () => {
      for (const one of client === undefined ? [] : subscribers) {
        if (one.connected || ![...one.channels].every((channel) => joined.has(channel))) continue
        one.connected = true
        Queue.offerUnsafe(one.queue, { _tag: "Connected" })
      }
    }
    const announceLost = () => {
      for (const one of subscribers) {
        if (one.connected) Queue.offerUnsafe(one.queue, { _tag: "Lost" })
        one.connected = false
      }
    }

    const query = (on: Client, text: string) => Effect.tryPromise({ try: () => on.query(text), catch: lost })

    /** Issues LISTEN or UNLISTEN if the channel's subscribers changed. */
    const sync = (channel: string) =>
      Effect.gen(function* () {
        const on = client
        if (on === undefined || wanted(channel) === joined.has(channel)) return
        const leaving = joined.has(channel)
        yield* query(on, `${leaving ? "unlisten" : "listen"} ${quoteName(channel)}`).pipe(
          // The connection is broken: closing it makes `receive` reconnect and join all channels again.
          Effect.tapError(() => Effect.sync(() => void on.end().catch(() => undefined)))
        )
        if (leaving) joined.delete(channel)
        else joined.add(channel)
        announceConnected()
      }).pipe(commands.withPermit, Effect.ignore, Effect.uninterruptible)

    /** One connection from connect to loss; fails with what ended it. */
    const receive = Effect.gen(function* () {
      established = false
      const on = yield* connected(address)
      const ended = Effect.callback<never, ConnectionLost>((resume) => {
        on.on("error", (error) => resume(Effect.fail(lost(error))))
        on.on("end", () => resume(Effect.fail(lost("The connection was closed"))))
      })
      on.on("notification", ({ channel, payload = "" }) => {
        const message: ListenerMessage = { _tag: "Notification", channel, payload }
        for (const one of subscribers)
          if (one.connected && one.channels.has(channel)) Queue.offerUnsafe(one.queue, message)
      })
      const join = Effect.gen(function* () {
        const names = new Set<string>()
        for (const { channels } of subscribers) for (const name of channels) names.add(name)
        if (names.size > 0) yield* query(on, [...names].map((name) => `listen ${quoteName(name)}`).join(";"))
        for (const name of names) joined.add(name)
        client = on
        established = true
        since = yield* DateTime.now
        announceConnected()
      })
      const beat = commands.withPermit(query(on, "select 1"))
      return yield* Effect.raceFirst(
        ended,
        Effect.andThen(commands.withPermit(join), Effect.repeat(beat, Schedule.spaced(heartbeat)))
      )
    }).pipe(
      Effect.scoped,
      Effect.raceFirst(Effect.andThen(paused.await, Effect.fail(lost("The listener is paused")))),
      Effect.onExit(() =>
        Effect.gen(function* () {
          if (client === undefined) return
          client = undefined
          joined.clear()
          since = yield* DateTime.now
          announceLost()
        })
      )
    )

    /** Waits while paused. Closes `disconnected` in the same step as it checks `allowed`. */
    const receiveAllowed: typeof receive = Effect.suspend(() => {
      if (!allowed.isOpen()) return Effect.andThen(allowed.await, receiveAllowed)
      disconnected.closeUnsafe()
      return Effect.ensuring(receive, disconnected.open)
    })

    yield* receiveAllowed.pipe(
      Effect.tapError((error) =>
        allowed.isOpen()
          ? Effect.logWarning(`Listener ${established ? "lost its connection" : "failed to connect"}: ${error.message}`)
          : Effect.void
      ),
      Effect.retry({ schedule: backoff, until: () => established }),
      // The backoff starts again after an established connection.
      Effect.retry(Schedule.spaced("100 millis")),
      Effect.forkScoped
    )

    const listen = Effect.fnUntraced(function* (...names: ReadonlyArray<string>) {
      const queue = yield* Queue.unbounded<ListenerMessage>()
      const mine: Subscriber = { channels: new Set(names), queue, connected: false }
      const syncAll = (channels: Iterable<string>) => Effect.forEach(channels, sync, { discard: true })
      subscribers.add(mine)
      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => {
          subscribers.delete(mine)
          return Effect.andThen(syncAll(mine.channels), Queue.shutdown(queue))
        })
      )
      yield* syncAll(names)
      announceConnected() // if other subscribers had joined all of them already
      return {
        messages: Stream.fromQueue(queue),
        join: (channel) => Effect.suspend(() => (mine.channels.add(channel), sync(channel))),
        leave: (channel) => Effect.suspend(() => (mine.channels.delete(channel), sync(channel)))
      } satisfies ListenerSubscription
    })

    const service = Listener.of({
      listen,
      status: Effect.sync(() => ({ connected: client !== undefined, since }))
    })
    const pausable: Pausable = {
      pause: Effect.andThen(Effect.andThen(allowed.close, paused.open), disconnected.await),
      resume: Effect.asVoid(Effect.andThen(paused.close, allowed.open))
    }
    return { service, pausable }
  })

/** The listener of the main database. */
export const layerListener = Layer.effect(
  Listener,
  Effect.gen(function* () {
    const sessions = yield* MainSessions
    const { pausable, service } = yield* makeListener(yield* PostgresAddress)
    yield* sessions.add(pausable)
    return service
  })
).pipe(Layer.provide(MainSessions.layer))

const connected = (given: Login) =>
  openClient(given, {
    name: "listener",
    settings: { search_path: ownSearchPath },
    more: { ...keptAlive, query_timeout: queryTimeout },
    failed: lost,
    connected: breakWithPrimary
  })
