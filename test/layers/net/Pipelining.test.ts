import { createServer } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, assert, describe, it } from "vitest"
import { withRequestsInOrder } from "../../../src/layers/net/Pipelining.ts"

const closers: Array<() => void> = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A server that answers each request with its path, the later the sooner. */
const serve = async () => {
  const seen = { running: 0, most: 0, started: [] as Array<string> }
  const server = withRequestsInOrder(
    createServer((request, response) => {
      seen.most = Math.max(seen.most, ++seen.running)
      seen.started.push(request.url ?? "")
      request.resume().once("end", async () => {
        await sleep(Math.max(0, 10 - 2 * seen.started.length))
        seen.running--
        response.end(`${request.method} ${request.url};`)
      })
    })
  ).listen(0, "127.0.0.1")
  closers.push(() => (server.closeAllConnections(), server.close()))
  await new Promise((listening) => server.once("listening", listening))
  return { seen, server, port: (server.address() as AddressInfo).port }
}

/** Sends a text on a connection, and resolves to what came back once it closes or contains the end. */
const exchange = (port: number, text: string, end: string) =>
  new Promise<string>((done) => {
    let received = ""
    const socket = connect(port, "127.0.0.1")
    closers.push(() => socket.destroy())
    socket.on("error", () => undefined).on("close", () => done(received))
    socket.on("data", (data) => {
      received += data.toString()
      if (received.includes(end)) done(received)
    })
    socket.write(text)
  })

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const post = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`

describe("pipelined requests", () => {
  it("run one after the other, with their bodies, and are answered in order", async () => {
    const { port, seen } = await serve()
    const received = await exchange(
      port,
      post("/1", "abc") + get("/2") + post("/3", "d".repeat(50_000)) + get("/4"),
      "/4;"
    )
    assert.deepStrictEqual(received.match(/(?:GET|POST) \S+;/g), ["POST /1;", "GET /2;", "POST /3;", "GET /4;"])
    assert.strictEqual(seen.most, 1)
  })

  it("are all answered, however many came before on the connection", async () => {
    const { port, seen } = await serve()
    let received = ""
    const socket = connect(port, "127.0.0.1").on("data", (data) => void (received += data.toString()))
    closers.push(() => socket.destroy())
    for (let batch = 0; batch < 5; batch++) {
      socket.write(Array.from({ length: 200 }, (_, n) => get(`/${batch}-${n}`)).join(""))
      while (!received.includes(`/${batch}-199;`)) await sleep(5)
    }
    assert.strictEqual(seen.started.length, 1_000)
    assert.strictEqual(seen.most, 1)
  })

  it("are not read while too many wait", async () => {
    const { port, seen, server } = await serve()
    const bytes = new Promise<number>((read) => {
      server.once("connection", (socket) => setTimeout(() => read(socket.bytesRead), 200))
    })
    const all = get("/").repeat(200_000)
    const socket = connect(port, "127.0.0.1").on("error", () => undefined)
    closers.push(() => socket.destroy())
    socket.write(all)
    assert.isBelow(await bytes, all.length / 2)
    assert.strictEqual(seen.most, 1)
    assert.include(await exchange(port, get("/after"), "/after;"), "GET /after;")
  })

  it("have bodies that arrive after the connection was not read for a while", async () => {
    const { port } = await serve()
    const socket = connect(port, "127.0.0.1")
    closers.push(() => socket.destroy())
    let received = ""
    socket.on("data", (data) => void (received += data.toString()))
    socket.write(get("/first").repeat(30) + "POST /last HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n")
    while (!received.includes("GET")) await sleep(5)
    socket.write("x".repeat(300_000) + get("/end"))
    while (!received.includes("/end;")) await sleep(5)
    assert.include(received, "POST /last;")
  })
})
