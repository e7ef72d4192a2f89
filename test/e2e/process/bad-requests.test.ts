import { connect } from "node:net"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { ask, assertRefused, replyOf, type Request, sql, talk } from "../../support/client.ts"

const service = inject("service")
const key = service.service_role

/** Sends a request head byte by byte; returns the response, and the ms until the connection was closed. */
const slowLoris = () =>
  new Promise<{ received: string; millis: number }>((done) => {
    const from = Date.now()
    let received = ""
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    const drip = setInterval(() => socket.write("a"), 500)
    socket.setEncoding("latin1").on("data", (text: string) => (received += text))
    socket
      .on("error", () => undefined)
      .once("close", () => {
        clearInterval(drip)
        done({ received, millis: Date.now() - from })
      })
  })
let slow: ReturnType<typeof slowLoris>

beforeAll(async () => {
  slow = slowLoris()
  await sql(service, "create table e2e_bad (id int generated always as identity primary key, t text, j jsonb)")
})
afterAll(async () => {
  // The service still works.
  assert.strictEqual((await ask(service, "GET /readyz")).status, 200)
})

const deep = "[".repeat(100_000) + "]".repeat(100_000)
const mebibytes = (count: number) => count * 1024 * 1024
const chunked = (bytes: number) =>
  new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (bytes > 0) controller.enqueue(new Uint8Array(65_536).fill(32))
      else controller.close()
      bytes -= 65_536
    }
  })

const writes = ["POST /v1/db/e2e_bad", "PATCH /v1/db/e2e_bad?id=eq.1", "POST /v1/db/rpc/f", "POST /v1/sql"]
const everywhere = [...writes, "POST /v1/sql/transaction", "POST /api/keys", "PATCH /api/keys/1"]

describe("bodies", () => {
  it.each(everywhere)("%s: invalid JSON is 400, another media type rejected", async (line) => {
    const send = (body: string | Uint8Array, type = "application/json") =>
      ask(service, line, { key, body, headers: { "content-type": type } })
    for (const body of ["{", "{'a':1}", '{"a":1}}', "NaN", "\0"]) assertRefused(await send(body), 400)
    assertRefused(await send(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)), 400)
    assertRefused(await send(deep), 400)
    // Rows and functions accept more media types, and reject others as PostgREST does.
    const [status, code] = line.includes("/v1/db/") ? [400, "PGRST102"] : [415, "UNSUPPORTED_MEDIA_TYPE"]
    for (const type of ["text/html", "multipart/form-data; boundary=x", "a"]) {
      assertRefused(await send("{}", type), status, code)
    }
    const packed = { "content-encoding": "gzip" }
    const reply = await ask(service, line, { key, body: "{}", headers: packed })
    if (line.includes("/v1/")) assertRefused(reply, 415, "UNSUPPORTED_MEDIA_TYPE")
  })

  it.each(everywhere)("%s: too large a body is 413, with and without Content-Length", async (line) => {
    const limit = line.includes("/v1/db/") ? 10 : 1
    const known = await ask(service, line, { key, body: new Uint8Array(mebibytes(limit) + 1).fill(32) })
    assertRefused(known, 413, "PAYLOAD_TOO_LARGE")
    const unknown = await fetch(service.url + line.split(" ")[1], {
      method: line.split(" ")[0] ?? "",
      headers: { apikey: key, "content-type": "application/json" },
      body: chunked(mebibytes(limit) + 65_536),
      duplex: "half"
    })
    const text = await unknown.text()
    assertRefused({ ...unknown, status: unknown.status, headers: unknown.headers, text, json: JSON.parse(text) }, 413)
  })

  it("accepts a row of 9 MiB", async () => {
    const t = "x".repeat(mebibytes(9))
    const headers = { prefer: "return=minimal" }
    assert.strictEqual((await ask(service, "POST /v1/db/e2e_bad", { key, headers, body: { t } })).status, 201)
  })

  const texts: ReadonlyArray<readonly [name: string, line: string, body: string]> = [
    ["NUL in a row", "POST /v1/db/e2e_bad", '{"t":"\\u0000"}'],
    ["NUL in a document", "POST /v1/db/e2e_bad", '{"j":{"a":"\\u0000"}}'],
    ["NUL in a column's name", "POST /v1/db/e2e_bad", '{"\\u0000":1}'],
    ["an unpaired surrogate in a row", "POST /v1/db/e2e_bad", '{"t":"\\ud800"}'],
    ["an unpaired surrogate in a document", "POST /v1/db/e2e_bad", '{"j":{"\\udc00":1}}'],
    ["deep nesting in a document", "POST /v1/db/e2e_bad", `{"j":${deep}}`],
    ["deep nesting in a text", "PATCH /v1/db/e2e_bad?id=eq.1", `{"t":${deep}}`],
    ["NUL in SQL", "POST /v1/sql", '{"sql":"select \'\\u0000\'"}'],
    ["an unpaired surrogate in SQL", "POST /v1/sql", '{"sql":"select \'\\ud800\'"}'],
    ["NUL in a parameter", "POST /v1/sql", '{"sql":"select $1::text","params":["\\u0000"]}'],
    ["an unpaired surrogate in a parameter", "POST /v1/sql", '{"sql":"select $1::text","params":["\\ud800"]}'],
    [
      "an unpaired surrogate in a JSON parameter",
      "POST /v1/sql",
      '{"sql":"select $1::jsonb","params":[{"a":"\\ud800"}]}'
    ],
    ["deep nesting in a parameter", "POST /v1/sql", `{"sql":"select $1::jsonb","params":[${deep}]}`],
    ["NUL in a label", "POST /api/keys", '{"keyType":"anon","label":"\\u0000"}'],
    ["an unpaired surrogate in a label", "POST /api/keys", '{"keyType":"anon","label":"\\ud800"}'],
    ["an array instead of an object", "POST /v1/db/e2e_bad", "[[]]"],
    ["a text instead of an object", "POST /v1/db/e2e_bad", '"{}"'],
    ["__proto__", "POST /v1/db/e2e_bad", '{"__proto__":{"t":"x"}}']
  ]
  it.each(texts)("%s is 400", async (_name, line, body) => {
    assertRefused(await ask(service, line, { key, body }), 400)
  })
})

describe("URLs", () => {
  it("over 16 KiB return 414 on every path", async () => {
    const long = "a".repeat(17 * 1024)
    for (const path of [`/v1/db/e2e_bad?t=eq.${long}`, `/v1/db/${long}`, `/${long}`, `/api/keys?${long}`]) {
      assertRefused(await ask(service, `GET ${path}`, { key }), 414, "URI_TOO_LONG")
    }
  })

  it("are accepted with 5,000 parameters", async () => {
    const junk = Array.from({ length: 5_000 }, () => "a=").join("&")
    assertRefused(await ask(service, `GET /v1/db/e2e_bad?${junk}`, { key }), 400, "PGRST100")
    const filters = Array.from({ length: 1_600 }, (_, i) => `id=gt.${i % 10}`).join("&")
    assert.deepStrictEqual((await ask(service, `GET /v1/db/e2e_bad?${filters}&select=id`, { key })).json, [])
  })

  const broken: ReadonlyArray<readonly [status: number, line: string]> = [
    [400, "GET /v1/db/%zz"],
    [400, "GET /v1/db/%ff"],
    [400, "POST /v1/db/rpc/%c3%28"],
    [400, "GET /v1/db/e2e_bad?t=eq.%zz"],
    [400, "GET /v1/db/e2e_bad?%ff=eq.1"],
    [400, "GET /v1/db/e2e_bad?t=eq.%00"],
    [400, "GET /v1/db/e2e_bad?%00=eq.1"],
    [404, "GET /v1/db/e2e%00bad"],
    [400, "GET /v1/db/e2e_bad?select=%00"],
    [400, "GET /v1/db/e2e_bad?order=%22"],
    [400, "GET /v1/db/e2e_bad?limit=1e9"],
    [416, "GET /v1/db/e2e_bad?limit=-1"],
    [400, "GET /v1/db/e2e_bad?offset=99999999999999999999"],
    [400, "DELETE /api/keys/%zz"],
    [404, "GET /%ff"],
    [404, "GET /v1/%ff"],
    [404, `GET /v1/db/${"a".repeat(4_000)}`]
  ]
  it.each(broken)("%i for an invalid one", async (status, line) => {
    assertRefused(await ask(service, line, { key, ...(line.startsWith("POST") ? { body: {} } : {}) }), status)
  })
})

describe("headers", () => {
  const odd: ReadonlyArray<readonly [status: number, request: Request]> = [
    [431, { headers: { "x-large": "a".repeat(70_000) } }],
    [401, { key: "a".repeat(40_000) }],
    [401, { key, token: "a".repeat(40_000) }],
    [401, { key, token: "a.b.c" }],
    [401, { key: "ä" }],
    [406, { key, headers: { "accept-profile": "x".repeat(10_000) } }],
    [200, { key, headers: { prefer: `return=${"x".repeat(10_000)}, ,;=`, range: "bytes=-1", "content-type": "?" } }]
  ]
  it.each(odd)("%i", async (status, request) => {
    const reply = await ask(service, "GET /v1/db/e2e_bad?limit=0", request)
    if (status === 200) assert.strictEqual(reply.status, 200, reply.text)
    else assertRefused(reply, status)
    assert.strictEqual(reply.headers.get("x-ratelimit-limit"), "-1")
    assert.strictEqual(reply.headers.get("x-ratelimit-remaining"), "-1")
  })
})

describe("invalid requests", () => {
  const get = "GET /healthz HTTP/1.1\r\nHost: x\r\n"
  const garbage: ReadonlyArray<readonly [status: number, bytes: string]> = [
    [400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    [400, "hello\r\n\r\n"],
    [400, "GET\r\n\r\n"],
    [400, "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"],
    [400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    [400, `${get}X-A: \0\r\n\r\n`],
    [400, `${get}no colon\r\n\r\n`],
    [400, "POST /api/keys HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n"],
    [400, "POST /api/keys HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    [405, "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n"],
    [417, `${get}Expect: a miracle\r\n\r\n`],
    [431, `${get}X-Large: ${"a".repeat(70_000)}\r\n\r\n`]
  ]
  it.each(garbage)("%i for bytes that are not HTTP", async (status, bytes) => {
    assertRefused(replyOf(await talk(service, Buffer.from(bytes, "latin1"))), status)
  })

  it("are closed if they never complete", async () => {
    const { received, millis } = await slow
    assertRefused(replyOf(received), 408, "REQUEST_TIMEOUT")
    assert.isBelow(millis, 15_000)
  })
})
