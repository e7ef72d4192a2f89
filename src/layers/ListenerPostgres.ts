import { PgConnection } from "@effect/sql-pg"
import { Effect, Exit, Layer, Queue, Schedule, Scope, Stream } from "effect"
import { type Heard, Listener } from "../services/Listener.ts"
import { clientConfig } from "./Login.ts"
import { PostgresAddress } from "./PostgresAddress.ts"

/** Everyone who listens to one channel, and the scope of our LISTEN while we are connected. */
interface Channel {
  readonly listeners: Set<Queue.Queue<Heard>>
  joined: Scope.Closeable | undefined
}

const backoff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")]).pipe(Schedule.jittered)
const heartbeat = { every: "5 seconds", patience: "3 seconds" } as const

/** One connection for all channels; see the port. */
export const layerListener = Layer.effect(
  Listener,
  Effect.gen(function* () {
    const address = yield* PostgresAddress
    const channels = new Map<string, Channel>()
    let session: PgConnection.PgConnection | undefined

    const tell = (channel: Channel, heard: Heard) => {
      for (const queue of channel.listeners) Queue.offerUnsafe(queue, heard)
    }

    const join = (name: string, channel: Channel, on: PgConnection.PgConnection) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        channel.joined = scope
        const notes = yield* Scope.provide(on.listen(name), scope)
        tell(channel, { _tag: "Connected" })
        yield* Stream.fromQueue(notes).pipe(
          Stream.runForEach((note) =>
            Effect.sync(() => tell(channel, { _tag: "Notification", payload: note.payload }))
          ),
          Effect.ignore, // the connection was lost: the heartbeat of `hear` sees it too and starts anew
          Effect.forkIn(scope)
        )
      })

    /** One life of the connection: ends with the error that ended it. */
    const hear = Effect.gen(function* () {
      const connection = yield* PgConnection.make({
        ...clientConfig(address),
        applicationName: "svc listener",
        keepAlive: "10 seconds"
      })
      const on = yield* connection.pin
      for (const [name, channel] of channels) yield* join(name, channel, on)
      session = on
      return yield* on
        .query("select 1")
        .pipe(Effect.timeout(heartbeat.patience), Effect.repeat(Schedule.spaced(heartbeat.every)))
    }).pipe(
      Effect.scoped,
      Effect.onExit(() =>
        Effect.gen(function* () {
          session = undefined
          for (const channel of channels.values()) {
            if (channel.joined) yield* Scope.close(channel.joined, Exit.void)
            channel.joined = undefined
            tell(channel, { _tag: "Lost" })
          }
        })
      )
    )

    yield* hear.pipe(
      Effect.tapError((error) => Effect.logWarning(`Listener lost its connection: ${(error as Error).message}`)),
      Effect.retry(backoff),
      Effect.forkScoped
    )

    const listen = (name: string): Effect.Effect<Stream.Stream<Heard>, never, Scope.Scope> =>
      Effect.gen(function* () {
        const queue = yield* Queue.unbounded<Heard>()
        const channel = channels.get(name) ?? { listeners: new Set(), joined: undefined }
        const isNew = !channels.has(name)
        channels.set(name, channel)
        channel.listeners.add(queue)
        if (isNew && session !== undefined) yield* Effect.ignore(join(name, channel, session))
        else if (channel.joined !== undefined) Queue.offerUnsafe(queue, { _tag: "Connected" })
        yield* Effect.addFinalizer(() =>
          Effect.gen(function* () {
            channel.listeners.delete(queue)
            yield* Queue.shutdown(queue)
            if (channel.listeners.size > 0) return
            channels.delete(name)
            if (channel.joined) yield* Scope.close(channel.joined, Exit.void)
          })
        )
        return Stream.fromQueue(queue)
      })

    return Listener.of({ listen })
  })
)
