import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { request as nodeRequest } from "node:http"
import { ask, replyOf, type Request, sql, talk } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService

beforeAll(async () => {
  service = await serveInProcess({ DASHBOARD_URL: "https://board.example" })
  for (const text of [
    "create table words (id text primary key, n int)",
    "insert into words values ('a', 1)",
    "create table hidden (id int)",
    "revoke all on hidden from anon, authenticated",
    "create function body(json) returns json language sql immutable as 'select $1'",
    `create function answers(headers text, status text default '') returns void language sql as
       $$ select set_config('response.headers', headers, true), set_config('response.status', status, true) $$`,
    "create function raises(code text) returns void language plpgsql as $$ begin raise exception using errcode = code; end $$",
    `create function raises_own() returns void language plpgsql as $$ begin raise sqlstate 'PGRST' using
       message = '{"code": "1", "message": "no"}', detail = '{"status": 401, "headers": {"WWW-Authenticate": "Mine"}}'; end $$`
  ]) {
    await sql(service, text)
  }
})
afterAll(() => service[Symbol.asyncDispose]())

const on = (line: string, request: Request = {}) =>
  ask(service, line.replace(" ", " /v1/db"), { key: service.service_role, ...request })

/** The lines of a header as they are sent. */
const linesOf = (path: string, body: object) =>
  new Promise<ReadonlyArray<string>>((resolve, reject) => {
    const headers = { apikey: service.service_role, "content-type": "application/json" }
    const asked = nodeRequest(`${service.url}/v1/db${path}`, { method: "POST", headers }, (response) => {
      const lines = response.rawHeaders.flatMap((name, at) =>
        at % 2 === 0 ? [`${name.toLowerCase()}: ${response.rawHeaders[at + 1]}`] : []
      )
      response.resume().once("end", () => resolve(lines))
    })
    asked.once("error", reject).end(JSON.stringify(body))
  })

describe("headers that a function sets", () => {
  it("may repeat a name, and cookies one too", async () => {
    const headers = JSON.stringify([
      { "Set-Cookie": "sess=a; Domain=example.com; Priority=High" },
      { "X-A": "1" },
      { "set-cookie": "sess=b; Path=/x" },
      { "x-a": "2, é" },
      { "Content-Type": "text/x" },
      { "Content-Type": "text/y" }
    ])
    const lines = await linesOf("/rpc/answers", { headers })
    const of = (name: string) => lines.filter((line) => line.startsWith(`${name}:`))
    assert.deepStrictEqual(of("set-cookie"), [
      "set-cookie: sess=a; Domain=example.com; Priority=High",
      "set-cookie: sess=b; Path=/x"
    ])
    assert.deepStrictEqual(of("x-a"), ["x-a: 1", `x-a: ${Buffer.from("2, é").toString("latin1")}`])
    assert.deepStrictEqual(of("content-type"), ["content-type: text/y"])
    assert.lengthOf(of("x-request-id"), 1)
  })
})

describe("401", () => {
  it("has a challenge", async () => {
    const challenge = async (line: string, request: Request) => {
      const { headers, status } = await ask(service, line, request)
      return [status, headers.get("www-authenticate")]
    }
    const key = service.anon
    assert.deepStrictEqual(await challenge("GET /v1/db/words", {}), [401, 'ApiKey realm="svc"'])
    assert.deepStrictEqual(await challenge("GET /api/keys", { key: "unknown" }), [401, 'ApiKey realm="svc"'])
    assert.deepStrictEqual(await challenge("GET /ofrep/v1/configuration", {}), [401, 'ApiKey realm="svc"'])
    assert.deepStrictEqual(await challenge("GET /v1/db/hidden", { key }), [401, 'Bearer realm="svc"'])
    const [status, text] = await challenge("GET /v1/db/words", { key, token: "a.b.c" })
    assert.strictEqual(status, 401)
    assert.match(String(text), /^Bearer realm="svc", error="invalid_token", error_description="The JWT [^"\\]+"$/)
    const chosen = { headers: "[]", status: "401" }
    assert.deepStrictEqual(await challenge("POST /v1/db/rpc/answers", { key, body: chosen }), [
      401,
      'Bearer realm="svc"'
    ])
    const own = { headers: '[{"WWW-Authenticate": "Mine"}]', status: "401" }
    assert.deepStrictEqual(await challenge("POST /v1/db/rpc/answers", { key, body: own }), [401, "Mine"])
    assert.deepStrictEqual(await challenge("POST /v1/db/rpc/raises_own", { key, body: {} }), [401, "Mine"])
    assert.isNull((await on("GET /words")).headers.get("www-authenticate"))
  })
})

describe("Vary", () => {
  const rows =
    "Accept, Accept-Profile, Prefer, Range, Accept-Encoding, Apikey, Authorization, X-Api-Key, X-Svc-Branch, Origin"
  it("names what selects the response", async () => {
    const vary = async (line: string, request: Request = {}) => (await ask(service, line, request)).headers.get("vary")
    const key = service.service_role
    assert.strictEqual(await vary("GET /v1/db/words", { key }), rows)
    assert.strictEqual(await vary("GET /v1/db/words", { key, headers: { accept: "image/png" } }), rows)
    assert.strictEqual(await vary("GET /v1/db/words"), rows)
    const own = { headers: '[{"Vary": "Cookie"}]' }
    assert.strictEqual(await vary("POST /v1/db/rpc/answers", { key, body: own }), `Cookie, ${rows}`)
    const keyed = "Accept-Encoding, Apikey, Authorization, X-Api-Key, X-Svc-Branch, Origin"
    assert.strictEqual(await vary("GET /v1/status", { key }), keyed)
    // With and without an Origin, and for one that is not allowed.
    for (const origin of [{}, { origin: "https://board.example" }, { origin: "https://other.example" }]) {
      assert.strictEqual(
        await vary("GET /api/keys", { key, headers: origin }),
        "Accept, Accept-Encoding, Apikey, Authorization, X-Api-Key, Cookie, Origin"
      )
      assert.strictEqual(await vary("GET /healthz", { headers: origin }), "Origin")
    }
    assert.strictEqual(await vary("GET /docs"), "Accept-Encoding, Origin")
  })
})

describe("echoes", () => {
  const sizeOf = (headers: Headers) =>
    [...headers].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0)

  it("of the URL and of keys stay below 4 KiB", async () => {
    const near = await on(`GET /words?id=in.(${"a".repeat(2900)})`)
    assert.strictEqual(near.headers.get("content-location"), `/v1/db/words?id=in.%28${"a".repeat(2900)}%29`)
    for (const query of [`id=in.(${"é,".repeat(1200)}a)`, `id=in.(${"a".repeat(15_000)})`]) {
      const reply = await on(`GET /words?${query}`)
      assert.strictEqual(reply.status, 200)
      assert.isNull(reply.headers.get("content-location"))
      assert.isBelow(sizeOf(reply.headers), 4096)
    }
    const located = await on("POST /words", {
      body: { id: "é".repeat(1500) },
      headers: { prefer: "return=headers-only" }
    })
    assert.deepStrictEqual([located.status, located.headers.get("location")], [201, null])
    assert.isBelow(sizeOf(located.headers), 4096)
    const asked = { "access-control-request-method": "GET", origin: "https://board.example" }
    const allowed = async (names: string) =>
      (await on("OPTIONS /words", { headers: { ...asked, "access-control-request-headers": names } })).headers.get(
        "access-control-allow-headers"
      )
    assert.strictEqual(await allowed("apikey,x-a"), "apikey,x-a")
    assert.strictEqual(await allowed(Array.from({ length: 900 }, (_, n) => `x-${n}`).join()), "*")
  })
})

describe("requests", () => {
  it("with a URL in raw UTF-8 are refused with the encoding to use", async () => {
    const reply = replyOf(await talk(service, "GET /v1/db/words?id=eq.é HTTP/1.1\r\nHost: a\r\n\r\n"))
    const body = reply.json as { readonly code: string; readonly error: string }
    assert.deepStrictEqual([reply.status, body.code], [400, "INVALID_HTTP"])
    assert.include(body.error, "%C3%A9")
  })

  it("with OPTIONS need not accept a form of rows", async () => {
    for (const path of ["/words", "/rpc/body"]) {
      const { headers, status } = await on(`OPTIONS ${path}`, { headers: { accept: "text/html" } })
      assert.strictEqual(status, 200)
      assert.include(headers.get("allow"), "POST")
    }
  })

  it("with CSV have arguments, and no JSON that an unnamed argument takes", async () => {
    const csv = await on("POST /rpc/body", { body: "a,b\n1,2\n", headers: { "content-type": "text/csv" } })
    assert.deepStrictEqual([csv.status, (csv.json as { code: string }).code], [404, "PGRST202"])
    assert.deepStrictEqual((await on("POST /rpc/body", { body: [{ a: 1 }] })).json, [{ a: 1 }])
  })

  it.each([
    ["PT418", 418],
    ["PT40A", 500],
    ["PT999", 500]
  ])("that raise %s are %i", async (code, status) => {
    assert.strictEqual((await on("POST /rpc/raises", { body: { code } })).status, status)
  })

  it("that merge no rows are 200", async () => {
    const post = async (prefer: string, body: unknown = []) => {
      const reply = await on("POST /words", { body, headers: { prefer } })
      return [reply.status, reply.text]
    }
    assert.deepStrictEqual(await post("resolution=merge-duplicates"), [200, "[]"])
    assert.deepStrictEqual(await post("return=representation"), [201, "[]"])
    assert.deepStrictEqual(await post("resolution=ignore-duplicates"), [201, "[]"])
  })
})
