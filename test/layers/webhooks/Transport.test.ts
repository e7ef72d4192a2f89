import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Fiber, Layer } from "effect"
import { type LookupAddress } from "node:dns"
import { createServer as createTcpServer } from "node:net"
import { type Resolve } from "../../../src/layers/net/Outbound.ts"
import { layerWebhookTransport, layerWebhookTransportWith } from "../../../src/layers/webhooks/Transport.ts"
import { WebhookSettings } from "../../../src/services/webhooks/Settings.ts"
import { WebhookTransport } from "../../../src/services/ports/WebhookTransport.ts"
import { type Receiver, startReceiver } from "../../support/webhooks/receiver.ts"

const settings = (env: Readonly<Record<string, string>>) =>
  WebhookSettings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...env }))))

const live = { excludeTestServices: true } as const

/** Starts a receiver on loopback, until the scope closes. */
const receiver = (host?: string) => Effect.acquireDisposable(Effect.promise(() => startReceiver(host)))

const post = (url: string, body = "{}", headers: Readonly<Record<string, string>> = {}) =>
  Effect.flatMap(WebhookTransport, (transport) => transport.post({ url, headers, body }))

const portOf = ({ url }: Receiver) => new URL(url).port

layer(
  layerWebhookTransport.pipe(Layer.provide(settings({ WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_TIMEOUT: "400ms" }))),
  live
)("with private addresses allowed", (it) => {
  it.effect("sends the exact bytes, and returns status and body", () =>
    Effect.gen(function* () {
      const sink = yield* receiver()
      sink.answer = () => ({ status: 201, body: "thanks é", headers: { "retry-after": "7" } })
      const body = '{"n":9007199254740993,"t":"é🎉\\u0000"}'
      const reply = yield* post(`${sink.url}/hook?a=1#part`, body, { "x-a": "b", "content-type": "application/json" })
      assert.deepInclude(reply, { status: 201, body: "thanks é", error: null, retryAfter: "7" })
      assert.strictEqual(sink.received[0]?.body.toString("utf8"), body)
      assert.strictEqual(sink.received[0]?.path, "/hook?a=1")
      assert.deepInclude(sink.received[0]?.headers, { "x-a": "b", host: new URL(sink.url).host })
      assert.strictEqual(sink.received[0]?.headers["content-length"], String(Buffer.byteLength(body)))
    })
  )

  it.effect("does not follow a redirect", () =>
    Effect.gen(function* () {
      const [sink, other] = [yield* receiver(), yield* receiver()]
      sink.answer = () => ({ status: 307, headers: { location: other.url } })
      assert.strictEqual((yield* post(sink.url)).status, 307)
      assert.lengthOf(other.received, 0)
    })
  )

  it.effect("ends within the timeout: no response, an endless body, a silent socket", () =>
    Effect.gen(function* () {
      const sink = yield* receiver()
      const silent = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = createTcpServer((socket) => {
            socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"))
            socket.on("error", () => undefined)
          })
          await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
          return server
        }),
        (server) => Effect.sync(() => server.close())
      )
      sink.answer = () => ({ hang: true })
      for (const url of [sink.url, `http://127.0.0.1:${(silent.address() as { port: number }).port}/`]) {
        const [took, reply] = yield* Effect.timed(post(url))
        assert.deepInclude(reply, { status: null, body: null })
        assert.match(reply.error ?? "", /^Timeout: .* 400 ms$/)
        assert.isAtLeast(Duration.toMillis(took), 390)
        assert.isBelow(Duration.toMillis(took), 3_000)
      }
    })
  )

  it.effect("returns the error", () =>
    Effect.gen(function* () {
      const sink = yield* receiver()
      sink.answer = () => ({ reset: true })
      assert.match((yield* post(sink.url)).error ?? "", /^Connection closed/)
      const closed = yield* Effect.scoped(Effect.map(receiver(), ({ url }) => url))
      assert.deepInclude(yield* post(closed), { status: null, error: "Connection refused" })
      assert.strictEqual((yield* post("http://no.such.host.invalid/")).status, null)
      assert.isString((yield* post(sink.url.replace("http:", "https:"))).error)
    })
  )

  it.effect("reads 64 KiB of a response and drops the rest, without an error", () =>
    Effect.gen(function* () {
      const sink = yield* receiver()
      sink.answer = () => ({ body: "é".repeat(5_000_000) })
      const reply = yield* post(sink.url)
      assert.deepStrictEqual([reply.status, reply.body, reply.error], [200, "é".repeat(512), null])
      sink.answer = () => ({ body: Uint8Array.of(0, 0xff, 0x41) })
      assert.strictEqual((yield* post(sink.url)).body, "\ufffd\ufffdA")
    })
  )

  it.effect("retries on a new connection if a kept-alive one was just closed", () =>
    Effect.gen(function* () {
      let connections = 0
      const server = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = createTcpServer((socket) => {
            const mine = ++connections
            let requests = 0
            socket
              .on("error", () => undefined)
              .on("data", () => {
                // The first connection dies on its second request.
                if (mine === 1 && ++requests === 2) socket.resetAndDestroy()
                else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
              })
          })
          await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
          return server
        }),
        (server) => Effect.sync(() => server.close())
      )
      const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`
      for (let i = 0; i < 3; i++) assert.strictEqual((yield* post(url)).status, 200)
      assert.strictEqual(connections, 2)
    })
  )

  it.effect("drops the connection on interruption", () =>
    Effect.gen(function* () {
      const sink = yield* receiver()
      sink.answer = () => ({ hang: true })
      const fiber = yield* Effect.forkChild(post(sink.url))
      yield* Effect.promise(() => sink.count("/", 1))
      yield* Fiber.interrupt(fiber)
      yield* Effect.sleep("10 millis").pipe(
        Effect.repeat({ until: () => sink.open === 0 }),
        Effect.timeout("2 seconds")
      )
    })
  )
})

layer(layerWebhookTransport.pipe(Layer.provide(settings({ WEBHOOK_TIMEOUT: "3s" }))), live)("by default", (it) => {
  it.effect.each([
    "http://127.0.0.1:PORT/",
    "http://localhost:PORT/",
    "http://[::1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://2130706433:PORT/",
    "http://0x7f.1:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://127.1:PORT/",
    "http://0.0.0.0:PORT/",
    "http://127。0。0。1:PORT/",
    "http://LOCALHOST.:PORT/",
    "https://127.0.0.1:PORT/",
    "http://169.254.169.254/latest/meta-data/"
  ])("refuses %s without a connection", (url) =>
    Effect.gen(function* () {
      const sink = yield* receiver()
      const reply = yield* post(url.replace("PORT", portOf(sink)))
      assert.deepInclude(reply, { status: null, body: null })
      assert.match(reply.error ?? "", /^(Refused: .* is not on the public Internet|No such host)/)
      assert.lengthOf(sink.received, 0)
    })
  )
})

describe("names", () => {
  const through = (resolve: Resolve) =>
    layerWebhookTransportWith(resolve).pipe(Layer.provide(settings({ WEBHOOK_TIMEOUT: "1s" })))
  const answering =
    (...rounds: ReadonlyArray<ReadonlyArray<string>>): Resolve =>
    (_hostname, _options, done) => {
      const addresses = rounds[Math.min(lookups++, rounds.length - 1)] ?? []
      done(
        null,
        addresses.map((address): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 }))
      )
    }
  let lookups = 0

  it.live.each(["127.0.0.1", "10.1.2.3,127.0.0.1", "::1", "::ffff:7f00:1"])(
    "that resolve to %s are refused",
    (addresses) =>
      Effect.gen(function* () {
        const sink = yield* receiver()
        const reply = yield* post(`http://receiver.example:${portOf(sink)}/`).pipe(
          Effect.provide(through(answering(addresses.split(","))))
        )
        assert.match(reply.error ?? "", /^Refused: receiver\.example is not/)
        assert.lengthOf(sink.received, 0)
      })
  )

  it.live("that resolve to a public address first and a private one later are not connected to", () =>
    Effect.gen(function* () {
      const sink = yield* receiver()
      lookups = 0
      // Unlike 192.0.2.1 or 100::/64, this address is public, and does not respond here.
      const layer = through(answering(["2001:4860:4860::8888"], ["127.0.0.1"], ["::1"]))
      const replies = yield* Effect.forEach([1, 2, 3], () => post(`http://rebind.example:${portOf(sink)}/`)).pipe(
        Effect.provide(layer)
      )
      assert.lengthOf(sink.received, 0)
      assert.notMatch(replies[0]?.error ?? "", /^Refused/)
      assert.match(replies[1]?.error ?? "", /^Refused/)
      assert.match(replies[2]?.error ?? "", /^Refused/)
      assert.strictEqual(lookups, 3, "each connection goes to the address that was checked")
    })
  )

  it.live("with several addresses are connected to the public ones only", () =>
    Effect.gen(function* () {
      const sink = yield* receiver()
      const reply = yield* post(`http://both.example:${portOf(sink)}/`).pipe(
        Effect.provide(through(answering(["127.0.0.1", "2001:4860:4860::8888", "::1"])))
      )
      assert.strictEqual(reply.status, null)
      assert.lengthOf(sink.received, 0)
    })
  )
})
