import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { connect, createServer, type Server, type Socket } from "node:net"
import { atPlace } from "../../../src/layers/postgres/Login.ts"
import { layerListener } from "../../../src/layers/postgres/Listener.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { Listener, type ListenerMessage, type ListenerSubscription } from "../../../src/services/ports/Listener.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { until } from "../../support/service.ts"

/** A proxy to PostgreSQL whose connections can be cut, or frozen. */
interface Wire {
  readonly server: Server
  readonly sockets: Set<Socket>
  frozen: boolean
}

const makeWire = async (port: number, host: string): Promise<Wire> => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const through = connect(port, host)
    for (const [from, to] of [
      [socket, through],
      [through, socket]
    ] as const) {
      sockets.add(from)
      from.on("error", () => undefined).on("data", (bytes) => !wire.frozen && to.write(bytes))
      from.on("close", () => (sockets.delete(from), to.destroy()))
    }
  })
  const wire: Wire = { server, sockets, frozen: false }
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  return wire
}

/** A listener behind such a proxy. */
const behindWire = Effect.gen(function* () {
  const { login } = yield* Outside
  const wire = yield* Effect.acquireRelease(
    Effect.promise(() => makeWire(login.at.port, login.at.host)),
    ({ server, sockets }) =>
      Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
        server.close()
      })
  )
  const { port } = wire.server.address() as { port: number }
  const address = Layer.succeed(PostgresAddress, atPlace(login, { host: login.at.host, port }))
  const context = yield* Layer.build(Layer.fresh(layerListener).pipe(Layer.provide(address)))
  return { wire, listener: yield* Effect.provide(Listener, context) }
})

const suite = layer(layerDatabase({ name: "listener" }), live)

/** Collects the messages of a subscription, as `channel:payload`, `Connected` or `Lost`. */
const collecting = (subscription: ListenerSubscription) =>
  Effect.gen(function* () {
    const got: Array<string> = []
    const name = (message: ListenerMessage) =>
      message._tag === "Notification" ? `${message.channel}:${message.payload}` : message._tag
    yield* Effect.forkScoped(
      Stream.runForEach(subscription.messages, (message) => Effect.sync(() => void got.push(name(message))))
    )
    return {
      got,
      /** Waits for a message, and takes all messages up to it. */
      upTo: (last: string) =>
        Effect.promise(async () => {
          const at = await until(
            async () => got.indexOf(last),
            (at) => at >= 0,
            8_000
          )
          assert.isAtLeast(at, 0, `${last} was not received; got: ${got.join(" ")}`)
          return got.splice(0, at + 1)
        })
    }
  })

const notify = (channel: string, payload: string) =>
  Effect.flatMap(Outside, ({ sql }) => sql("select pg_notify($1, $2)", [channel, payload]))
/** Ends the connections of all listeners of this database. */
const terminate = Effect.flatMap(Outside, ({ sql }) =>
  sql(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'svc listener' and datname = current_database()`)
)

suite("a listener", (it) => {
  it.effect("emits Connected first, then the notifications of all channels in the order they were sent", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const subscription = yield* (yield* Listener).listen("one", "two", 'Odd "name"')
      const { upTo } = yield* collecting(subscription)
      assert.deepStrictEqual(yield* upTo("Connected"), ["Connected"])
      const sent: Array<string> = []
      for (let n = 0; n < 50; n++) {
        const channel = ["one", "two", 'Odd "name"'][(n * 7) % 3] ?? ""
        yield* notify(channel, String(n))
        sent.push(`${channel}:${n}`)
      }
      yield* sql("begin; select pg_notify('two', 'a'), pg_notify('one', 'b'); notify two, 'c'; commit")
      assert.deepStrictEqual(yield* upTo("two:c"), [...sent, "two:a", "one:b", "two:c"])
    })
  )

  it.effect("joins and leaves channels at run time, without effect on other subscriptions", () =>
    Effect.gen(function* () {
      const listener = yield* Listener
      const [a, b] = yield* Effect.all([listener.listen(), listener.listen("shared")])
      const [as, bs] = yield* Effect.all([collecting(a), collecting(b)])
      yield* a.join("shared")
      yield* a.join("mine")
      yield* a.join("mine")
      yield* notify("mine", "1")
      yield* notify("shared", "2")
      assert.deepStrictEqual(yield* as.upTo("shared:2"), ["Connected", "mine:1", "shared:2"])
      assert.deepStrictEqual(yield* bs.upTo("shared:2"), ["Connected", "shared:2"])
      yield* a.leave("shared")
      yield* a.leave("never joined")
      yield* notify("shared", "3")
      yield* notify("mine", "4")
      assert.deepStrictEqual(yield* as.upTo("mine:4"), ["mine:4"])
      assert.deepStrictEqual(yield* bs.upTo("shared:3"), ["shared:3"])
      yield* Effect.scoped(Effect.andThen(listener.listen("shared", "passing"), Effect.void))
      yield* notify("shared", "5")
      assert.deepStrictEqual(yield* bs.upTo("shared:5"), ["shared:5"])
    })
  )

  it.effect(
    "emits Lost and Connected around an interruption, with all channels joined, and reconnects equally fast each time",
    () =>
      Effect.gen(function* () {
        const listener = yield* Listener
        const subscription = yield* listener.listen("before")
        const { upTo } = yield* collecting(subscription)
        yield* subscription.join("later")
        yield* upTo("Connected")
        for (let n = 0; n < 6; n++) {
          const { since } = yield* listener.status
          const from = Date.now()
          yield* terminate
          assert.deepStrictEqual(yield* upTo("Connected"), ["Lost", "Connected"])
          assert.isBelow(Date.now() - from, 2_000, `interruption ${n}`)
          yield* notify("later", `l${n}`)
          yield* notify("before", `b${n}`)
          assert.deepStrictEqual(yield* upTo(`before:b${n}`), [`later:l${n}`, `before:b${n}`])
          const status = yield* listener.status
          assert.isTrue(status.connected)
          assert.isAbove(status.since.epochMilliseconds, since.epochMilliseconds)
        }
      })
  )

  it.effect("joins channels that were added while it was disconnected", () =>
    Effect.gen(function* () {
      const { listener, wire } = yield* behindWire
      const subscription = yield* listener.listen("first")
      const { upTo } = yield* collecting(subscription)
      yield* upTo("Connected")
      const { port } = wire.server.address() as { port: number }
      wire.server.close()
      for (const socket of wire.sockets) socket.destroy()
      yield* upTo("Lost")
      assert.isFalse((yield* listener.status).connected)
      yield* subscription.join("second")
      yield* subscription.leave("first")
      const late = yield* collecting(yield* listener.listen("third"))
      wire.server.listen(port, "127.0.0.1")
      yield* upTo("Connected")
      yield* notify("first", "1")
      yield* notify("second", "2")
      yield* notify("third", "3")
      assert.deepStrictEqual(yield* upTo("second:2"), ["second:2"])
      assert.deepStrictEqual(yield* late.upTo("third:3"), ["Connected", "third:3"])
    })
  )

  it.effect("detects a connection that no longer responds, also while joining a channel", () =>
    Effect.gen(function* () {
      const { listener, wire } = yield* behindWire
      const subscription = yield* listener.listen("first")
      const { upTo } = yield* collecting(subscription)
      yield* upTo("Connected")
      wire.frozen = true
      const joining = yield* Effect.forkChild(subscription.join("second"))
      yield* upTo("Lost")
      wire.frozen = false
      yield* upTo("Connected")
      yield* Fiber.join(joining)
      yield* notify("second", "1")
      assert.deepStrictEqual(yield* upTo("second:1"), ["second:1"])
    })
  )

  it.effect("emits Connected only once all channels of a subscription are joined", () =>
    Effect.gen(function* () {
      const { listener, wire } = yield* behindWire
      yield* listener.listen("first")
      for (let n = 0; n < 10; n++) {
        for (const socket of wire.sockets) socket.destroy()
        yield* Effect.repeat(listener.status, { until: ({ connected }) => !connected })
        // New subscriptions arrive at every moment of the reconnection.
        yield* Effect.sleep(90 + n * 5)
        const channel = `race_${n}`
        const { upTo } = yield* collecting(yield* listener.listen(channel))
        assert.deepStrictEqual(yield* upTo("Connected"), ["Connected"])
        yield* notify(channel, "heard")
        assert.deepStrictEqual(yield* upTo(`${channel}:heard`), [`${channel}:heard`])
      }
    })
  )
})
