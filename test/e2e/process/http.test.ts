import { assert, beforeAll, describe, inject, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { dashboard } from "../../support/sharedService.ts"

const service = inject("service")
const key = service.service_role

beforeAll(async () => {
  await sql(service, "create table e2e_items (id int generated always as identity primary key, name text)")
  await sql(service, "insert into e2e_items (name) values ('one'), ('two')")
})

describe("methods", () => {
  it("HEAD responds like GET, without the body", async () => {
    for (const path of ["/v1/db/e2e_items", "/v1/status", "/healthz", "/openapi.json"]) {
      const [get, head] = [await ask(service, `GET ${path}`, { key }), await ask(service, `HEAD ${path}`, { key })]
      assert.strictEqual(head.status, 200)
      assert.strictEqual(head.text, "")
      for (const name of ["content-type", "content-range"]) {
        assert.strictEqual(head.headers.get(name), get.headers.get(name))
      }
    }
  })

  it.each([
    ["/v1/sql", "OPTIONS, POST"],
    ["/v1/status", "OPTIONS, GET, HEAD"],
    ["/api/keys", "OPTIONS, GET, HEAD, POST"],
    ["/api/keys/1", "OPTIONS, PATCH, DELETE"],
    ["/docs", "OPTIONS, GET, HEAD"]
  ])("OPTIONS and a wrong method on %s return the allowed methods", async (path, allow) => {
    const options = await ask(service, `OPTIONS ${path}`, { key })
    assert.strictEqual(options.status, 204)
    assert.strictEqual(options.headers.get("allow"), allow)
    const wrong = await ask(service, `PUT ${path}`, { key, body: {} })
    assertRefused(wrong, 405, "METHOD_NOT_ALLOWED")
    assert.strictEqual(wrong.headers.get("allow"), allow)
  })

  it.each(["/v1", "/v1/", "/v2/db/x", "/api", "/api/nothing", "/healthz/", "/.env"])("%s is 404", async (path) => {
    assertRefused(await ask(service, `GET ${path}`, { key }), 404, "NOT_FOUND")
  })

  it("/ is a page for browsers, which also get an icon", async () => {
    const page = await ask(service, "GET /")
    assert.deepStrictEqual([page.status, page.headers.get("content-type")], [200, "text/html; charset=utf-8"])
    for (const text of ['href="/docs"', "keys.json", "svc key"]) assert.include(page.text, text)
    assert.strictEqual((await ask(service, "GET /favicon.ico")).status, 204)
  })

  it("paths of Supabase are 404 with a hint at the paths of the service", async () => {
    for (const path of ["/rest/v1/e2e_items?id=eq.1", "/rest/v1/rpc/f", "/rest/v1/"]) {
      const { hint } = assertRefused(await ask(service, `GET ${path}`, { key }), 404, "NOT_FOUND")
      assert.match(String(hint), /\/v1\/db/)
    }
    const others = { auth: "/api/auth", storage: "/api/storage", realtime: "/realtime?", functions: "/v1/db/rpc" }
    for (const [name, ours] of Object.entries(others)) {
      const { hint } = assertRefused(await ask(service, `POST /${name}/v1/x`, { key, body: {} }), 404, "NOT_FOUND")
      assert.include(String(hint), ours)
    }
    assert.isNull(assertRefused(await ask(service, "GET /restful", { key }), 404, "NOT_FOUND")["hint"])
  })

  it("a missing API key is named with its header", async () => {
    for (const path of ["/v1/status", "/api/keys"]) {
      const missing = "The API key is missing: send one in the header apikey"
      assert.strictEqual(assertRefused(await ask(service, `GET ${path}`), 401)["error"], missing)
      const unknown = await ask(service, `GET ${path}`, { key: "svc_pk_unknown" })
      assert.match(String(assertRefused(unknown, 401)["error"]), /^Unknown or revoked API key: .* header apikey$/)
    }
  })

  it("under /v1/db, unknown paths and methods get PostgREST's responses", async () => {
    for (const path of ["/v1/db/a/b/c", "/v1/db/e2e_items/", "/v1/db/rpc/f/g"]) {
      assertRefused(await ask(service, `GET ${path}`, { key }), 404, "PGRST125")
    }
    const sums = assertRefused(await ask(service, "GET /v1/db/e2e_items?select=id.sum()", { key }), 400, "PGRST123")
    assert.include(String(sums["hint"]), "SVC_DB_AGGREGATES=true")
    const { error } = assertRefused(await ask(service, "PROPFIND /v1/db/e2e_items", { key }), 405, "PGRST117")
    assert.strictEqual(error, "Unsupported HTTP method: PROPFIND")
  })
})

describe("cross-origin", () => {
  const from = (origin: string, method?: string) => ({
    origin,
    ...(method === undefined
      ? {}
      : { "access-control-request-method": method, "access-control-request-headers": "apikey,content-type" })
  })
  const allowed = ({ headers }: { headers: Headers }) => headers.get("access-control-allow-origin")

  it("allows every origin on /v1, without credentials, also for errors", async () => {
    const headers = from("https://any.example")
    for (const request of [{ key, headers }, { headers }, { key: service.anon, headers }]) {
      const reply = await ask(service, "GET /v1/status", request)
      assert.strictEqual(allowed(reply), "*")
      assert.isNull(reply.headers.get("access-control-allow-credentials"))
      for (const name of ["Content-Range", "X-RateLimit-Remaining", "X-Request-Id", "Retry-After"]) {
        assert.include(reply.headers.get("access-control-expose-headers") ?? "", name)
      }
    }
    const preflight = await ask(service, "OPTIONS /v1/db/e2e_items", { headers: from("https://any.example", "PATCH") })
    assert.strictEqual(preflight.status, 204)
    assert.strictEqual(allowed(preflight), "*")
    assert.include(preflight.headers.get("access-control-allow-methods") ?? "", "PATCH")
    assert.strictEqual(preflight.headers.get("access-control-allow-headers"), "apikey,content-type")
    assert.isNotNull(preflight.headers.get("x-request-id"))
  })

  it("allows only the dashboard's origin on /api, with credentials", async () => {
    const mine = await ask(service, "GET /api/keys", { key, headers: from(dashboard) })
    assert.strictEqual(allowed(mine), dashboard)
    assert.strictEqual(mine.headers.get("access-control-allow-credentials"), "true")
    assert.match(mine.headers.get("vary") ?? "", /(^|, )Origin(,|$)/)
    for (const origin of ["https://any.example", `${dashboard}.evil.example`, "null"]) {
      assert.isNull(allowed(await ask(service, "GET /api/keys", { key, headers: from(origin) })))
      assert.isNull(allowed(await ask(service, "OPTIONS /api/keys", { headers: from(origin, "POST") })))
    }
    assert.strictEqual(
      allowed(await ask(service, "OPTIONS /api/keys", { headers: from(dashboard, "POST") })),
      dashboard
    )
  })
})

describe("preferences and profiles", () => {
  it("Prefer: return=minimal returns no rows", async () => {
    const headers = { prefer: "return=minimal" }
    const write = (line: string, body?: object) => ask(service, line, { key, headers, body })
    const replies = [
      await write("POST /v1/db/e2e_items", { name: "three" }),
      await write("PATCH /v1/db/e2e_items?name=eq.three", { name: "drei" }),
      await write("DELETE /v1/db/e2e_items?name=eq.drei")
    ]
    assert.deepStrictEqual(
      replies.map(({ headers, status, text }) => [status, text, headers.get("preference-applied")]),
      [201, 204, 204].map((status) => [status, "", "return=minimal"])
    )
  })

  it("otherwise returns rows, for PATCH and DELETE with their number", async () => {
    const made = await ask(service, "POST /v1/db/e2e_items", { key, body: { name: "four" } })
    assert.strictEqual(made.status, 201)
    assert.deepInclude((made.json as Array<object>)[0], { name: "four" })
    const deleted = await ask(service, "DELETE /v1/db/e2e_items?name=eq.four&select=name", { key })
    assert.deepStrictEqual(deleted.json, [{ name: "four" }])
    assert.strictEqual(deleted.headers.get("content-range"), "*/*")
    const counted = { key, headers: { prefer: "count=exact" } }
    const none = await ask(service, "DELETE /v1/db/e2e_items?name=eq.four", counted)
    assert.strictEqual(none.headers.get("content-range"), "*/0")
  })

  it("rejects schemas that are not exposed", async () => {
    for (const schema of ["svc", "pg_catalog", "nowhere"]) {
      const read = await ask(service, "GET /v1/db/api_keys", { key, headers: { "accept-profile": schema } })
      assertRefused(read, 406, "PGRST106")
      const headers = { "content-profile": schema }
      assertRefused(await ask(service, "POST /v1/db/api_keys", { key, headers, body: {} }), 406, "PGRST106")
      assertRefused(await ask(service, "POST /v1/db/rpc/now", { key, headers, body: {} }), 406, "PGRST106")
    }
    const reply = await ask(service, "GET /v1/db/e2e_items?limit=1", { key, headers: { "accept-profile": "public" } })
    assert.strictEqual(reply.status, 200)
  })
})

describe("management reads and health", () => {
  it("/v1/status has version, uptime and database", async () => {
    const { version } = (await import("../../../package.json", { with: { type: "json" } })).default
    const status = (await ask(service, "GET /v1/status", { key })).json as Record<string, unknown>
    assert.deepInclude(status, { status: "ok", version })
    assert.isNumber(status["uptime_seconds"])
    assert.match((status["database"] as { version: string }).version, /^18\./)
  })

  it("/v1/database/schema describes the user's tables, not the service's", async () => {
    const { json, text } = await ask(service, "GET /v1/database/schema", { key })
    assert.isObject(json)
    assert.include(text, "e2e_items")
    assert.notInclude(text, "api_keys")
  })

  it("/healthz and /readyz require no key", async () => {
    for (const path of ["/healthz", "/readyz"]) {
      assert.deepStrictEqual((await ask(service, `GET ${path}`)).json, { status: "ok" })
    }
  })

  it("sets a request id on every response, the caller's own if it is valid", async () => {
    const idOf = async (given: string, line = "GET /healthz") =>
      (await ask(service, line, { headers: { "x-request-id": given } })).headers.get("x-request-id")
    assert.strictEqual(await idOf("trace-1.a_B"), "trace-1.a_B")
    assert.match((await idOf("a b")) ?? "", /^[\da-f-]{36}$/)
    assert.match((await idOf("x".repeat(65))) ?? "", /^[\da-f-]{36}$/)
    const refused = await ask(service, "GET /v1/status", { headers: { "x-request-id": "mine" } })
    assert.strictEqual(assertRefused(refused, 401)["request_id"], "mine")
    assert.strictEqual(refused.headers.get("x-request-id"), "mine")
  })
})
