import { connect as connectHttp2, constants } from "node:http2"
import { connect } from "node:net"
import { createServer } from "node:net"
import { once } from "node:events"
import { type AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { replyOf, talk } from "../../support/client.ts"
import { type FlagServers, onOff, startFlagServers } from "../../support/flags/servers.ts"

let servers: FlagServers
const page = "https://app.example.com"

beforeAll(async () => {
  servers = await startFlagServers({ corsOrigins: [page] })
  await servers.put("production", { on: onOff() })
})
afterAll(() => servers.stop())

const call = "/flagd.evaluation.v2.Service/ResolveBoolean"
const raw = (address: string, ...pieces: ReadonlyArray<string | Uint8Array>) =>
  talk({ url: `http://${address}` }, ...pieces)
const post = (head: string, body: string) =>
  `POST ${call} HTTP/1.1\r\n${head}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** Whether the port still serves calls. */
const works = async () => {
  const response = await fetch(`http://${servers.evaluation}${call}`, {
    method: "POST",
    body: `{"flagKey":"on"}`,
    headers: { "content-type": "application/json" }
  })
  assert.deepInclude(await response.json(), { value: true })
}

describe("the port of HTTP/1.1 and HTTP/2", () => {
  it("detects the protocol however the first bytes arrive", async () => {
    const socket = connect(Number(servers.evaluation.split(":")[1]), "127.0.0.1")
    socket.setNoDelay(true)
    let received = ""
    socket.setEncoding("latin1").on("data", (text: string) => (received += text))
    for (const letter of post("host: x", `{"flagKey":"on"}`)) {
      socket.write(letter)
      await sleep(1)
    }
    await once(socket, "close")
    assert.match(received, /^HTTP\/1\.1 200 [^]*"value":true/)

    const two = connect(Number(servers.evaluation.split(":")[1]), "127.0.0.1")
    const frames: Array<Buffer> = []
    two.on("data", (part: Buffer) => frames.push(part))
    for (const letter of "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") two.write(letter)
    two.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))
    await sleep(200)
    // The SETTINGS frame of the server, type 4.
    assert.strictEqual(Buffer.concat(frames)[3], 4)
    two.destroy()
  })

  it.each([
    ["P", "PR", "PRI", "PRI * HTTP/2.0\r\n\r\nXX", "\u0016\u0003\u0001", "\r\n\r\n", "\u0000\u0000\u0000"],
    ["PUT / HTTP/1.1\r\n\r\n", "POST", "CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n", "GET /\r\n\r\n"]
  ])("survives bytes that are not a request", async (...openings) => {
    await Promise.all(
      openings.map(async (opening) => {
        const socket = connect(Number(servers.evaluation.split(":")[1]), "127.0.0.1")
        socket.on("error", () => {})
        socket.write(opening)
        await sleep(50)
        socket.destroy()
      })
    )
    await works()
  })

  it("answers with any Host header", async () => {
    for (const host of ["host: [", "host: a b", "host: ", "host: x:99999", `host: ${"x".repeat(10_000)}`]) {
      const answer = await raw(servers.evaluation, post(host, `{"flagKey":"on"}`))
      assert.match(answer, /^HTTP\/1\.1 (200|400) /, host)
    }
    assert.match(await raw(servers.evaluation, post("x: y", "{}")), /^HTTP\/1\.1 400 /)
    assert.match(
      await raw(
        servers.evaluation,
        `POST ${call} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`
      ),
      /^HTTP\/1\.1 400 /
    )
    const session = connectHttp2(`http://${servers.evaluation}`)
    const odd = session.request({
      ":method": "POST",
      ":path": call,
      ":authority": "[",
      "content-type": "application/json"
    })
    odd.end("{}")
    const [headers] = (await once(odd, "response")) as [Record<string, unknown>]
    assert.strictEqual(headers[":status"], 400)
    session.destroy()
    await works()
  })

  it("answers what is no valid request with the common error body", async () => {
    for (const [address, path] of [
      [servers.evaluation, call],
      [servers.sync, call],
      [servers.ofrep, "/ofrep/v1/evaluate/flags"]
    ] as const) {
      const rest = "host: x\r\nconnection: close\r\ncontent-length: 0"
      for (const [bytes, status, code] of [
        [`POST ${path} HTTP/1.1\r\nexpect: a miracle\r\n${rest}\r\n\r\n`, 417, "INVALID_HTTP"],
        [`POST ${path} HTTP/9.9\r\n${rest}\r\n\r\n`, 400, "INVALID_HTTP"],
        [`POST ${path} HTTP/1.1\r\n${rest}\r\nno colon\r\n\r\n`, 400, "INVALID_HTTP"],
        [`POST ${path} HTTP/1.1\r\n${rest}\r\nx: ${"x".repeat(66_000)}\r\n\r\n`, 431, "HEADERS_TOO_LARGE"],
        [`CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n`, 405, "METHOD_NOT_ALLOWED"]
      ] as const) {
        const text = await raw(address, bytes)
        const answer = replyOf(text)
        assert.strictEqual(answer.status, status, bytes.slice(0, 60))
        assert.deepInclude(answer.json, { code, details: null, hint: null })
        assert.match(text, /\r\nX-Content-Type-Options: nosniff\r\n/)
      }
    }
  })

  it("forbids browsers to guess types", async () => {
    for (const [address, path] of [
      [servers.evaluation, call],
      [servers.sync, "/nothing"],
      [servers.ofrep, "/ofrep/v1/evaluate/flags"]
    ] as const) {
      const answer = await fetch(`http://${address}${path}`, { method: "POST", body: "{}" })
      assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff", path)
    }
  })

  it("reads few large messages at a time, and small ones in between", async () => {
    const body = JSON.stringify({ flagKey: "on", context: { long: "x".repeat(60_000) } })
    const large = (address: string, path: string, bytes = body) => {
      const socket = connect(Number(address.split(":")[1]), "127.0.0.1")
      socket.on("error", () => {})
      const head = `host: x\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}`
      socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n\r\n${bytes}`)
      let text = ""
      socket.setEncoding("latin1").on("data", (part: string) => (text += part))
      return { socket, text: () => text, status: once(socket, "close").then(() => replyOf(text).status) }
    }
    const ofrep = "/ofrep/v1/evaluate/flags/on"
    const part = body.slice(0, 40_000)
    const stalled = [large(servers.ofrep, ofrep, part), large(servers.evaluation, call, part)]
    await sleep(100)
    const waiting = [large(servers.evaluation, call), large(servers.ofrep, ofrep)]
    await sleep(300)
    await works()
    assert.deepStrictEqual(
      waiting.map(({ text }) => text()),
      ["", ""]
    )
    for (const { socket } of stalled) socket.destroy()
    assert.deepStrictEqual(await Promise.all(waiting.map(({ status }) => status)), [200, 200])
  })

  it("aborts a request that never ends, over either protocol", async () => {
    const before = performance.now()
    const slow = raw(
      servers.evaluation,
      `POST ${call} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{`
    )
    const session = connectHttp2(`http://${servers.evaluation}`)
    const stream = session.request({ ":method": "POST", ":path": call, "content-type": "application/json" })
    stream.on("error", () => {})
    stream.write("{")
    const silent = raw(servers.evaluation, "PR")
    const ofrep = raw(servers.ofrep, "POST /ofrep/v1/evaluate/flags HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{")
    const [late, , , alsoLate] = await Promise.all([slow, once(stream, "close"), silent, ofrep])
    for (const text of [late, alsoLate]) {
      assert.strictEqual(replyOf(text).status, 408)
      assert.deepInclude(replyOf(text).json, { code: "REQUEST_TIMEOUT", hint: null })
    }
    assert.isBelow(performance.now() - before, 15_000)
    assert.strictEqual(stream.rstCode, constants.NGHTTP2_CANCEL)
    session.destroy()
    await works()
  }, 20_000)

  it("survives clients that disconnect midway", async () => {
    for (let n = 0; n < 50; n++) {
      const socket = connect(Number(servers.evaluation.split(":")[1]), "127.0.0.1")
      socket.on("error", () => {})
      socket.write(post("host: x", `{"flagKey":"on"}`).slice(0, 20 + n * 4))
      await sleep(1)
      socket.resetAndDestroy()
      const session = connectHttp2(`http://${servers.sync}`)
      session.on("error", () => {})
      const stream = session.request({
        ":method": "POST",
        ":path": "/flagd.sync.v1.FlagSyncService/SyncFlags",
        "content-type": "application/grpc"
      })
      stream.on("error", () => {})
      stream.end(Buffer.alloc(5))
      if (n % 2 === 0) await once(stream, "response")
      session.destroy()
    }
    await works()
  })
})

describe("pages of other origins", () => {
  const preflight = (address: string, path: string, origin: string) =>
    fetch(`http://${address}${path}`, {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "flagd-selector" }
    })

  it("may call from the configured origins only", async () => {
    for (const [address, path] of [
      [servers.evaluation, call],
      [servers.ofrep, "/ofrep/v1/evaluate/flags"]
    ] as const) {
      const allowed = await preflight(address, path, page)
      assert.strictEqual(allowed.status, 204)
      assert.strictEqual(allowed.headers.get("access-control-allow-origin"), page)
      assert.strictEqual(allowed.headers.get("access-control-allow-headers"), "flagd-selector")
      const other = await preflight(address, path, "https://other.example.com")
      assert.isNull(other.headers.get("access-control-allow-origin"))
      const answer = await fetch(`http://${address}${path}`, {
        method: "POST",
        body: "{}",
        headers: { origin: page, "content-type": "application/json" }
      })
      assert.strictEqual(answer.headers.get("access-control-allow-origin"), page)
      assert.match(answer.headers.get("access-control-expose-headers") ?? "", /ETag.*Grpc-Status/)
      assert.strictEqual(answer.headers.get("vary"), "Origin")
    }
  })

  it("have no headers without the setting, and are all allowed with `*`", async () => {
    const closed = await startFlagServers()
    const open = await startFlagServers({ corsOrigins: ["*"] })
    assert.isNull(
      (await preflight(closed.ofrep, "/ofrep/v1/evaluate/flags", page)).headers.get("access-control-allow-origin")
    )
    assert.strictEqual(
      (await preflight(open.ofrep, "/ofrep/v1/evaluate/flags", page)).headers.get("access-control-allow-origin"),
      "*"
    )
    await Promise.all([closed.stop(), open.stop()])
  })
})

describe("starting", () => {
  it("reports the port in use and its setting, and leaves none open", async () => {
    const taken = createServer().listen(0, "127.0.0.1")
    await once(taken, "listening")
    const { port } = taken.address() as AddressInfo
    for (const [over, name] of [
      [{ port }, "Flag evaluation can't listen on 127.0.0.1:%d (HOST, FLAGS_PORT): the port is in use"],
      [{ httpPort: port }, "OFREP can't listen on 127.0.0.1:%d (HOST, FLAGS_HTTP_PORT): the port is in use"],
      [{ syncPort: port }, "Flag sync can't listen on 127.0.0.1:%d (HOST, FLAGS_SYNC_PORT): the port is in use"]
    ] as const) {
      const error = await startFlagServers(over).then(
        () => undefined,
        (cause: unknown) => cause as Error
      )
      assert.strictEqual(error?.message, name.replace("%d", String(port)))
    }
    taken.close()
  })

  it("with an external flagd serves only the sync port", async () => {
    const alone = await startFlagServers({ host: "flagd.example.com" })
    assert.match(alone.sync, /:\d+$/)
    assert.match(alone.evaluation + alone.ofrep, /undefined.*undefined/)
    await alone.stop()
  })
})
