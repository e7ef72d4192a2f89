import * as NodeWS from "@effect/platform-node/NodeWS"
import { type AddressInfo } from "node:net"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { WebSocket } from "ws"
import { webSocketOptions } from "../../../src/layers/net/WebSockets.ts"
import { until } from "../../support/service.ts"

let server: NodeWS.WebSocketServer
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
  server = new NodeWS.WebSocketServer({ port: 0, host: "127.0.0.1", ...webSocketOptions } as NodeWS.ServerOptions)
  await new Promise((listening) => server.once("listening", listening))
})
afterEach(() => {
  for (const socket of server.clients) socket.terminate()
  server.close()
  vi.useRealTimers()
})

/** A client and its server-side socket. */
const pair = async (options: { readonly autoPong?: boolean } = {}) => {
  const accepted = new Promise<NodeWS.WebSocket>((done) => server.once("connection", done))
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, options)
  const closed = new Promise<number>((done) => client.once("close", done))
  client.on("error", () => undefined)
  const [socket] = await Promise.all([accepted, new Promise((open) => client.once("open", open))])
  socket.on("error", () => undefined)
  const serverClosed = new Promise<number>((done) => socket.once("close", done))
  return { client, socket, closed, serverClosed }
}
/** Waits until the server has read all that was sent. */
const ponged = (client: WebSocket) =>
  new Promise((pong) => {
    client.once("pong", pong)
    client.ping()
  })
const seconds = (n: number) => vi.advanceTimersByTime(n * 1000)

describe("the server's WebSocket", () => {
  it("pings every 30 s and keeps clients that respond, even if they miss one", async () => {
    const { client, socket } = await pair()
    let pings = 0
    client.on("ping", () => pings++)
    seconds(29.9)
    for (let n = 1; n <= 5; n++) {
      const answered = new Promise((pong) => socket.once("pong", pong))
      seconds(30)
      await answered
      assert.strictEqual(pings, n)
    }
    // The second ping is sent before the first is answered.
    const answered = new Promise((pong) => socket.once("pong", pong))
    seconds(60)
    await answered
    seconds(30)
    assert.strictEqual(client.readyState, client.OPEN)
  })

  it("terminates after two missed pings, and leaves no timer behind", async () => {
    const { client, closed, serverClosed } = await pair({ autoPong: false })
    seconds(60)
    await until(
      async () => client.readyState,
      (state) => state !== client.OPEN,
      100
    )
    assert.strictEqual(client.readyState, client.OPEN)
    seconds(30)
    assert.deepStrictEqual(await Promise.all([closed, serverClosed]), [1006, 1006])
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it("closes with 1008 when a client sends too many messages, and passes none on", async () => {
    const { client, closed, socket } = await pair()
    let passed = 0
    socket.on("message", () => passed++)
    for (let n = 0; n < 2_000; n++) client.send("a")
    assert.strictEqual(await closed, 1008)
    assert.strictEqual(passed, 0)
  })

  it("keeps a client that sends a message now and then", async () => {
    const { client } = await pair()
    for (let n = 0; n < 100; n++) client.send("heartbeat")
    await ponged(client)
    assert.strictEqual(client.readyState, client.OPEN)
  })

  it("sends a burst as the socket drains, without losing messages or closing", async () => {
    const { client, socket } = await pair()
    let next = 0
    const last = new Promise<void>((done) => {
      client.on("message", (data: Buffer) => {
        assert.strictEqual(Number.parseInt(String(data), 10), next++)
        if (next === 1500) done()
      })
    })
    let most = 0
    for (let n = 0; n < 1500; n++) {
      socket.send(`${n} ${"x".repeat(8000)}`)
      most = Math.max(most, socket.bufferedAmount)
    }
    assert.isBelow(most, 1024 * 1024 + 20_000)
    await last
    socket.send("1500")
    await until(
      async () => next,
      (n) => n === 1501
    )
    assert.strictEqual(next, 1501)
  })

  it("closes with 1013 when more than 16 MiB are pending, and soon terminates a client that does not read", async () => {
    const { client, serverClosed, socket } = await pair()
    client.pause()
    const message = "x".repeat(100_000)
    let most = 0
    for (let sent = 0; socket.readyState === socket.OPEN && sent < 1000; sent++) {
      socket.send(message)
      most = Math.max(most, socket.bufferedAmount)
      await new Promise((next) => setImmediate(next))
    }
    assert.strictEqual(socket.readyState, socket.CLOSING)
    assert.isBelow(most, 1024 * 1024 + 2 * message.length)
    // Later messages are dropped, not queued.
    const before = socket.bufferedAmount
    for (let n = 0; n < 100; n++) socket.send(message)
    assert.isAtMost(socket.bufferedAmount, before)
    const from = Date.now()
    await serverClosed
    assert.isBelow(Date.now() - from, 3_500)
  })

  it("closes with 1013 when more than 1 MiB is pending for 2 s", async () => {
    const { client, closed, socket } = await pair()
    client.pause()
    for (let n = 0; n < 200 && socket.bufferedAmount <= 1024 * 1024; n++) {
      socket.send("x".repeat(100_000))
      await new Promise((next) => setImmediate(next))
    }
    socket.send("one more")
    assert.strictEqual(socket.readyState, socket.OPEN)
    await until(
      async () => socket.readyState,
      (state) => state !== socket.OPEN,
      4_000
    )
    assert.strictEqual(socket.readyState, socket.CLOSING)
    client.resume()
    assert.strictEqual(await closed, 1013)
  })

  it("sends the reason to a slow client once it reads again", async () => {
    const { client, closed, socket } = await pair()
    client.pause()
    for (let n = 0; n < 1000 && socket.readyState === socket.OPEN; n++) {
      socket.send("x".repeat(100_000))
      await new Promise((next) => setImmediate(next))
    }
    client.resume()
    assert.strictEqual(await closed, 1013)
  })

  it("closes with 1009 for a message of more than 64 KiB, in one frame or in several", async () => {
    const [one, several, fits] = [await pair(), await pair(), await pair()]
    one.client.send(new Uint8Array(64 * 1024 + 1))
    assert.strictEqual(await one.closed, 1009)
    for (let n = 0; n < 9; n++) several.client.send("x".repeat(8 * 1024), { fin: n === 8 })
    assert.strictEqual(await several.closed, 1009)
    fits.client.send(new Uint8Array(64 * 1024))
    await ponged(fits.client)
    assert.strictEqual(fits.client.readyState, fits.client.OPEN)
  })

  it("queues no unbounded pongs for a client that pings and does not read", async () => {
    const { client, serverClosed, socket } = await pair()
    client.pause()
    let most = 0
    for (let n = 0; n < 40_000 && socket.readyState === socket.OPEN && client.readyState === client.OPEN; n++) {
      for (let m = 0; m < 200; m++) client.ping("p".repeat(125))
      most = Math.max(most, socket.bufferedAmount)
      await new Promise((next) => setImmediate(next))
    }
    await serverClosed
    assert.isBelow(most, 2 * 1024 * 1024)
  })
})
