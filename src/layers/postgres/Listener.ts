import { Data, DateTime, Effect, Latch, Layer, Queue, Redacted, Schedule, Semaphore, Stream } from "effect"
import { Client } from "pg"
import { quoteName } from "../../domain/sql/Names.ts"
import { type Ear, type Heard, Listener } from "../../services/ports/Listener.ts"
import { type Login } from "./Login.ts"
import { MainSessions, type Pausable } from "./MainSessions.ts"
import { PostgresAddress } from "./Address.ts"

const backoff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")]).pipe(Schedule.jittered)
/** How often a quiet connection is asked whether it still is one. */
const heartbeat = "5 seconds"
/** How long PostgreSQL may take to answer, in ms; beyond that the connection counts as lost. */
const patience = 3_000

class ConnectionLost extends Data.TaggedError("ConnectionLost")<{ readonly message: string }> {}
const lost = (cause: unknown) => new ConnectionLost({ message: cause instanceof Error ? cause.message : String(cause) })

interface Listening {
  readonly channels: Set<string>
  readonly queue: Queue.Queue<Heard>
  /** Has been told Connected, and not Lost since. */
  connected: boolean
}

/**
 * One connection for all channels of one database; see the port. It is `pg`'s, because that hands on what it hears in
 * one order over all channels, which sql-pg, with a queue for each, does not.
 */
export const makeListener = (address: Login) =>
  Effect.gen(function* () {
    const all = new Set<Listening>()
    /** Channels that PostgreSQL sends us now. */
    const joined = new Set<string>()
    const commands = yield* Semaphore.make(1)
    /** Open while there may be a connection. */
    const allowed = yield* Latch.make(true)
    const forbidden = yield* Latch.make(false)
    /** Open while there is none, nor one being made. */
    const silent = yield* Latch.make(true)
    let client: Client | undefined
    let since = yield* DateTime.now
    /** Whether the connection that was tried last came up. */
    let lived = false

    const wanted = (channel: string) => [...all].some(({ channels }) => channels.has(channel))
    /** Tells those whose channels are all joined. */
    const tellConnected = () => {
      for (const one of client === undefined ? [] : all) {
        if (one.connected || ![...one.channels].every((channel) => joined.has(channel))) continue
        one.connected = true
        Queue.offerUnsafe(one.queue, { _tag: "Connected" })
      }
    }
    const tellLost = () => {
      for (const one of all) {
        if (one.connected) Queue.offerUnsafe(one.queue, { _tag: "Lost" })
        one.connected = false
      }
    }

    const ask = (on: Client, text: string) => Effect.tryPromise({ try: () => on.query(text), catch: lost })

    /** Makes what PostgreSQL sends what is wanted. */
    const settle = (channel: string) =>
      Effect.gen(function* () {
        const on = client
        if (on === undefined || wanted(channel) === joined.has(channel)) return
        const leaving = joined.has(channel)
        yield* ask(on, `${leaving ? "unlisten" : "listen"} ${quoteName(channel)}`).pipe(
          // Of no use any more: `hear` sees it end, and joins everything anew.
          Effect.tapError(() => Effect.sync(() => void on.end().catch(() => undefined)))
        )
        if (leaving) joined.delete(channel)
        else joined.add(channel)
        tellConnected()
      }).pipe(commands.withPermit, Effect.ignore, Effect.uninterruptible)

    /** One life of the connection: ends with the error that ended it. */
    const hear = Effect.gen(function* () {
      lived = false
      const on = yield* connected(address)
      const ended = Effect.callback<never, ConnectionLost>((resume) => {
        on.on("error", (error) => resume(Effect.fail(lost(error))))
        on.on("end", () => resume(Effect.fail(lost("The connection was closed"))))
      })
      on.on("notification", ({ channel, payload = "" }) => {
        const heard: Heard = { _tag: "Notification", channel, payload }
        for (const one of all) if (one.connected && one.channels.has(channel)) Queue.offerUnsafe(one.queue, heard)
      })
      const join = Effect.gen(function* () {
        const names = new Set<string>()
        for (const { channels } of all) for (const name of channels) names.add(name)
        if (names.size > 0) yield* ask(on, [...names].map((name) => `listen ${quoteName(name)}`).join(";"))
        for (const name of names) joined.add(name)
        client = on
        lived = true
        since = yield* DateTime.now
        tellConnected()
      })
      const beat = commands.withPermit(ask(on, "select 1"))
      return yield* Effect.raceFirst(
        ended,
        Effect.andThen(commands.withPermit(join), Effect.repeat(beat, Schedule.spaced(heartbeat)))
      )
    }).pipe(
      Effect.scoped,
      Effect.raceFirst(Effect.andThen(forbidden.await, Effect.fail(lost("It is paused")))),
      Effect.onExit(() =>
        Effect.gen(function* () {
          if (client === undefined) return
          client = undefined
          joined.clear()
          since = yield* DateTime.now
          tellLost()
        })
      )
    )

    /** The same, where it is allowed; `silent` is closed with nothing in between. */
    const hearAllowed: typeof hear = Effect.suspend(() => {
      if (!allowed.isOpen()) return Effect.andThen(allowed.await, hearAllowed)
      silent.closeUnsafe()
      return Effect.ensuring(hear, silent.open)
    })

    yield* hearAllowed.pipe(
      Effect.tapError((error) =>
        allowed.isOpen() ? Effect.logWarning(`Listener lost its connection: ${error.message}`) : Effect.void
      ),
      Effect.retry({ schedule: backoff, until: () => lived }),
      // Once it was up, the next try is soon again.
      Effect.retry(Schedule.spaced("100 millis")),
      Effect.forkScoped
    )

    const listen = Effect.fnUntraced(function* (...names: ReadonlyArray<string>) {
      const queue = yield* Queue.unbounded<Heard>()
      const mine: Listening = { channels: new Set(names), queue, connected: false }
      const settleAll = (channels: Iterable<string>) => Effect.forEach(channels, settle, { discard: true })
      all.add(mine)
      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => {
          all.delete(mine)
          return Effect.andThen(settleAll(mine.channels), Queue.shutdown(queue))
        })
      )
      yield* settleAll(names)
      tellConnected() // when others had joined them already
      return {
        heard: Stream.fromQueue(queue),
        join: (channel) => Effect.suspend(() => (mine.channels.add(channel), settle(channel))),
        leave: (channel) => Effect.suspend(() => (mine.channels.delete(channel), settle(channel)))
      } satisfies Ear
    })

    const service = Listener.of({
      listen,
      status: Effect.sync(() => ({ connected: client !== undefined, since }))
    })
    const pausable: Pausable = {
      pause: Effect.andThen(Effect.andThen(allowed.close, forbidden.open), silent.await),
      resume: Effect.asVoid(Effect.andThen(forbidden.close, allowed.open))
    }
    return { service, pausable }
  })

/** The main database's. */
export const layerListener = Layer.effect(
  Listener,
  Effect.gen(function* () {
    const sessions = yield* MainSessions
    const { pausable, service } = yield* makeListener(yield* PostgresAddress)
    yield* sessions.add(pausable)
    return service
  })
).pipe(Layer.provide(MainSessions.layer))

const connected = ({ database, host, password, port, ssl, user }: Login) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const client = new Client({
          host,
          port,
          user,
          database,
          ssl,
          password: Redacted.value(password),
          application_name: "svc listener",
          keepAlive: true,
          keepAliveInitialDelayMillis: 10_000,
          connectionTimeoutMillis: 5_000,
          query_timeout: patience
        })
        // Until somebody listens for errors, one of them would end the process.
        client.on("error", () => undefined)
        await client.connect()
        return client
      },
      catch: lost
    }),
    (client) => Effect.promise(() => client.end().catch(() => undefined)).pipe(Effect.timeoutOption("1 second"))
  )
