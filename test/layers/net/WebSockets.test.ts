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
  const [ours] = await Promise.all([accepted, new Promise((open) => client.once("open", open))])
  ours.on("error", () => undefined)
  const gone = new Promise<number>((done) => ours.once("close", done))
  return { client, ours, closed, gone }
}
const seconds = (n: number) => vi.advanceTimersByTime(n * 1000)

describe("the server's WebSocket", () => {
  it("pings every 30 s and keeps clients that respond, even if they miss one", async () => {
    const { client, ours } = await pair()
    let pings = 0
    client.on("ping", () => pings++)
    seconds(29.9)
    for (let n = 1; n <= 5; n++) {
      const answered = new Promise((pong) => ours.once("pong", pong))
      seconds(30)
      await answered
      assert.strictEqual(pings, n)
    }
    // The second ping is sent before the first is answered.
    const answered = new Promise((pong) => ours.once("pong", pong))
    seconds(60)
    await answered
    seconds(30)
    assert.strictEqual(client.readyState, client.OPEN)
  })

  it("terminates after two missed pings, and leaves no timer behind", async () => {
    const { client, closed, gone } = await pair({ autoPong: false })
    seconds(60)
    await until(
      async () => client.readyState,
      (state) => state !== client.OPEN,
      100
    )
    assert.strictEqual(client.readyState, client.OPEN)
    seconds(30)
    assert.deepStrictEqual(await Promise.all([closed, gone]), [1006, 1006])
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it("sends a burst as the socket drains, without losing messages or closing", async () => {
    const { client, ours } = await pair()
    let next = 0
    const last = new Promise<void>((done) => {
      client.on("message", (data: Buffer) => {
        assert.strictEqual(Number.parseInt(String(data), 10), next++)
        if (next === 1500) done()
      })
    })
    let most = 0
    for (let n = 0; n < 1500; n++) {
      ours.send(`${n} ${"x".repeat(8000)}`)
      most = Math.max(most, ours.bufferedAmount)
    }
    assert.isBelow(most, 1024 * 1024 + 20_000)
    await last
    ours.send("1500")
    await until(
      async () => next,
      (n) => n === 1501
    )
    assert.strictEqual(next, 1501)
  })

  it("closes with 1013 when more than 16 MiB are pending, and soon terminates a client that does not read", async () => {
    const { client, gone, ours } = await pair()
    client.pause()
    const message = "x".repeat(100_000)
    let most = 0
    for (let sent = 0; ours.readyState === ours.OPEN && sent < 1000; sent++) {
      ours.send(message)
      most = Math.max(most, ours.bufferedAmount)
      await new Promise((next) => setImmediate(next))
    }
    assert.strictEqual(ours.readyState, ours.CLOSING)
    assert.isBelow(most, 1024 * 1024 + 2 * message.length)
    // Later messages are dropped, not queued.
    const before = ours.bufferedAmount
    for (let n = 0; n < 100; n++) ours.send(message)
    assert.isAtMost(ours.bufferedAmount, before)
    const from = Date.now()
    await gone
    assert.isBelow(Date.now() - from, 3_500)
  })

  it("closes with 1013 when more than 1 MiB is pending for 2 s", async () => {
    const { client, closed, ours } = await pair()
    client.pause()
    for (let n = 0; n < 200 && ours.bufferedAmount <= 1024 * 1024; n++) {
      ours.send("x".repeat(100_000))
      await new Promise((next) => setImmediate(next))
    }
    ours.send("one more")
    assert.strictEqual(ours.readyState, ours.OPEN)
    await until(
      async () => ours.readyState,
      (state) => state !== ours.OPEN,
      4_000
    )
    assert.strictEqual(ours.readyState, ours.CLOSING)
    client.resume()
    assert.strictEqual(await closed, 1013)
  })

  it("sends the reason to a slow client once it reads again", async () => {
    const { client, closed, ours } = await pair()
    client.pause()
    for (let n = 0; n < 1000 && ours.readyState === ours.OPEN; n++) {
      ours.send("x".repeat(100_000))
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
    const received = new Promise((done) => fits.ours.once("message", done))
    fits.client.send(new Uint8Array(64 * 1024))
    await received
    assert.strictEqual(fits.client.readyState, fits.client.OPEN)
  })

  it("queues no unbounded pongs for a client that pings and does not read", async () => {
    const { client, gone, ours } = await pair()
    client.pause()
    let most = 0
    for (let n = 0; n < 40_000 && ours.readyState === ours.OPEN && client.readyState === client.OPEN; n++) {
      for (let m = 0; m < 200; m++) client.ping("p".repeat(125))
      most = Math.max(most, ours.bufferedAmount)
      await new Promise((next) => setImmediate(next))
    }
    await gone
    assert.isBelow(most, 2 * 1024 * 1024)
  })
})
