import { Data, DateTime, Effect, Layer, Queue, Redacted, Schedule, Semaphore, Stream } from "effect"
import { Client } from "pg"
import { type Ear, type Heard, Listener } from "../services/Listener.ts"
import { PostgresAddress } from "./PostgresAddress.ts"

const backoff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")]).pipe(Schedule.jittered)
/** How often a quiet connection is asked whether it still is one, and how long an answer may take. */
const heartbeat = { every: "5 seconds", patience: "3 seconds" } as const

class ConnectionLost extends Data.TaggedError("ConnectionLost")<{ readonly message: string }> {}
const lost = (cause: unknown) => new ConnectionLost({ message: cause instanceof Error ? cause.message : String(cause) })

const quote = (channel: string) => `"${channel.replaceAll('"', '""')}"`

interface Listening {
  readonly channels: Set<string>
  readonly queue: Queue.Queue<Heard>
}

/**
 * One connection for all channels; see the port. It is `pg`'s, because that hands on what it hears in one order over
 * all channels, which sql-pg, with a queue for each, does not.
 */
export const layerListener = Layer.effect(
  Listener,
  Effect.gen(function* () {
    const address = yield* PostgresAddress
    const all = new Set<Listening>()
    /** Channels that PostgreSQL sends us now. */
    const joined = new Set<string>()
    const commands = yield* Semaphore.make(1)
    let client: Client | undefined
    let since = yield* DateTime.now

    const wanted = (channel: string) => [...all].some(({ channels }) => channels.has(channel))
    const tellAll = (heard: Heard) => {
      for (const { queue } of all) Queue.offerUnsafe(queue, heard)
    }

    const ask = (on: Client, text: string) => Effect.tryPromise({ try: () => on.query(text), catch: lost })

    /** Makes what PostgreSQL sends what is wanted. */
    const settle = (channel: string) =>
      Effect.gen(function* () {
        const on = client
        if (on === undefined || wanted(channel) === joined.has(channel)) return
        const leaving = joined.has(channel)
        yield* ask(on, `${leaving ? "unlisten" : "listen"} ${quote(channel)}`)
        if (leaving) joined.delete(channel)
        else joined.add(channel)
      }).pipe(
        commands.withPermit,
        // The connection is lost: `hear` sees it too, and joins everything anew.
        Effect.catch((error) => Effect.logDebug(`Channel ${channel}: ${error.message}`)),
        Effect.uninterruptible
      )

    /** One life of the connection: ends with the error that ended it. */
    const hear = Effect.gen(function* () {
      const on = yield* connected(address)
      const ended = Effect.callback<never, ConnectionLost>((resume) => {
        on.on("error", (error) => resume(Effect.fail(lost(error))))
        on.on("end", () => resume(Effect.fail(lost("The connection was closed"))))
      })
      on.on("notification", ({ channel, payload = "" }) => {
        const heard: Heard = { _tag: "Notification", channel, payload }
        for (const { channels, queue } of all) if (channels.has(channel)) Queue.offerUnsafe(queue, heard)
      })
      const join = Effect.gen(function* () {
        const names = new Set<string>()
        for (const { channels } of all) for (const name of channels) names.add(name)
        if (names.size > 0) yield* ask(on, [...names].map((name) => `listen ${quote(name)}`).join(";"))
        for (const name of names) joined.add(name)
        client = on
        since = yield* DateTime.now
        tellAll({ _tag: "Connected" })
      })
      const beat = commands.withPermit(ask(on, "select 1").pipe(Effect.timeout(heartbeat.patience)))
      return yield* Effect.raceFirst(
        ended,
        Effect.andThen(commands.withPermit(join), Effect.repeat(beat, Schedule.spaced(heartbeat.every)))
      )
    }).pipe(
      Effect.scoped,
      Effect.onExit(() =>
        Effect.gen(function* () {
          if (client === undefined) return
          client = undefined
          joined.clear()
          since = yield* DateTime.now
          tellAll({ _tag: "Lost" })
        })
      )
    )

    yield* hear.pipe(
      Effect.tapError((error) => Effect.logWarning(`Listener lost its connection: ${error.message}`)),
      Effect.retry(backoff),
      Effect.forkScoped
    )

    const listen = Effect.fnUntraced(function* (...names: ReadonlyArray<string>) {
      const queue = yield* Queue.unbounded<Heard>()
      const mine: Listening = { channels: new Set(names), queue }
      const settleAll = (channels: Iterable<string>) => Effect.forEach(channels, settle, { discard: true })
      // Before the first await: a connection that comes up meanwhile joins these channels too, and says so itself.
      const early = client === undefined
      all.add(mine)
      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => {
          all.delete(mine)
          return Effect.andThen(settleAll(mine.channels), Queue.shutdown(queue))
        })
      )
      yield* settleAll(names)
      if (!early && client !== undefined) Queue.offerUnsafe(queue, { _tag: "Connected" })
      return {
        heard: Stream.fromQueue(queue),
        join: (channel) => Effect.suspend(() => (mine.channels.add(channel), settle(channel))),
        leave: (channel) => Effect.suspend(() => (mine.channels.delete(channel), settle(channel)))
      } satisfies Ear
    })

    return Listener.of({
      listen,
      status: Effect.sync(() => ({ connected: client !== undefined, since }))
    })
  })
)

const connected = ({ database, host, password, port, ssl, user }: PostgresAddress["Service"]) =>
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
          connectionTimeoutMillis: 5_000
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
