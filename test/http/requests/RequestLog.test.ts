import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import {
  type LoggedRequest,
  type RequestCounts,
  type RequestKeys,
  type RequestList
} from "../../../src/domain/requests/Request.ts"
import { hs256 } from "../../support/access/jwts.ts"
import { ask, assertRefused, sql, talk } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { until } from "../../support/service.ts"

let service: InProcessService
let limited: { readonly id: number; readonly secret: string }
beforeAll(async () => {
  service = await serveInProcess({ SVC_ACCESS_LOG: "true", SVC_TRUSTED_PROXIES: "private" })
  await sql(service, "create table notes (id int primary key, note text)")
  await sql(service, "create function napping() returns void language sql as 'select pg_sleep(20)'")
  const body = { keyType: "anon", label: "web app", rate_limit: 1 }
  const made = (await ask(service, "POST /api/keys", { key: service.service_role, body })).json
  const { key, secret } = made as { readonly key: { readonly id: number }; readonly secret: string }
  limited = { id: key.id, secret }
})
let stopped = false
const stop = async () => {
  if (!stopped) await service[Symbol.asyncDispose]()
  stopped = true
}
afterAll(stop)

const list = async (query = "") => {
  const reply = await ask(service, `GET /api/requests${query}`, { key: service.service_role })
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.json as RequestList
}
const one = async (id: string): Promise<LoggedRequest | undefined> => (await list(`?request_id=${id}`)).requests[0]
const send = (line: string, id: string, options: Parameters<typeof ask>[2] = {}) =>
  ask(service, line, { ...options, headers: { "x-request-id": id, ...options.headers } })

describe("the request log", () => {
  it("is for administrators, and refuses filters that it does not know", async () => {
    for (const path of ["/api/requests", "/api/requests/minutes", "/api/requests/keys"]) {
      assertRefused(await ask(service, `GET ${path}`), 401)
      assertRefused(await ask(service, `GET ${path}`, { key: service.anon }), 403)
    }
    const { service_role: key } = service
    for (const query of [
      "status=600",
      "status=abc",
      "limit=0",
      "limit=1001",
      "key=x",
      "slower_than=-1",
      "dashboard=no"
    ]) {
      assertRefused(await ask(service, `GET /api/requests?${query}`, { key }), 400, "INVALID_REQUEST")
    }
  })

  it("has what a request was, who sent it and what became of it, and nothing of what it said", async () => {
    const reply = await send("GET /v1/db/notes?note=eq.secret-value&order=id", "reading", { key: service.anon })
    const found = await one("reading")
    assert.deepInclude(found, {
      request_id: "reading",
      method: "GET",
      path: "/v1/db/notes",
      route: "/v1/db/{table}",
      status: 200,
      code: null,
      bytes: reply.text.length,
      identity: null,
      dashboard: false
    })
    assert.isAbove(found?.milliseconds ?? 0, 0)
    assert.isNumber(found?.key?.id)
    assert.closeTo(Date.parse(found?.at ?? ""), Date.now(), 10_000)

    await send(`POST /v1/sql`, "writing", {
      key: service.service_role,
      body: { sql: "select 'secret-value'" },
      headers: { "x-svc-dashboard": "0", cookie: "secret-value=1", "user-agent": "secret-value" }
    })
    await send(`GET /${service.service_role}/x`, "misplaced")
    assert.deepInclude(await one("misplaced"), { path: "/svc_sk_…/x", route: null, status: 404, key: null })
    const all = JSON.stringify(await list("?limit=1000"))
    for (const secret of ["secret-value", service.service_role, service.anon]) assert.notInclude(all, secret)
  })

  it("has the codes of errors, and the key of a caller that was refused", async () => {
    await send("GET /v1/db/nowhere", "unknown-table", { key: service.service_role })
    assert.deepInclude(await one("unknown-table"), { status: 404, code: "PGRST205" })
    await send("GET /v1/db/notes", "no-key")
    assert.deepInclude(await one("no-key"), { status: 401, key: null })
    for (const id of ["allowed", "refused"]) await send("GET /v1/db/notes", id, { key: limited.secret })
    assert.deepInclude(await one("refused"), {
      status: 429,
      code: "RATE_LIMITED",
      key: { id: limited.id, label: "web app" }
    })
    await send("GET /api/keys", "management", { key: service.service_role })
    assert.isAbove((await one("management"))?.key?.id ?? 0, 0)
    await send("GET /api/keys", "anon-management", { key: limited.secret })
    assert.deepInclude(await one("anon-management"), { status: 403, key: { id: limited.id, label: "web app" } })
    await send(`GET /v1/db/notes?${"x".repeat(17_000)}`, "long", { key: service.anon })
    assert.deepInclude(await one("long"), { status: 414, code: "URI_TOO_LONG", path: "/v1/db/notes" })
  })

  it("has a client that disconnects, and leaves probes and preflights out", async () => {
    const stop = new AbortController()
    const gone = send("POST /v1/db/rpc/napping", "gone", { key: service.service_role, body: {}, signal: stop.signal })
    setTimeout(() => stop.abort(), 200)
    await gone.catch(() => undefined)
    const found = await until(
      () => one("gone"),
      (entry) => entry !== undefined
    )
    assert.deepInclude(found, { status: 499, bytes: null, route: "/v1/db/rpc/{function}" })
    for (const line of ["GET /healthz", "GET /readyz", "OPTIONS /v1/db/notes"]) await send(line, "probe")
    assert.isUndefined(await one("probe"))
  })

  it("is filtered, and limited", async () => {
    await send("GET /v1/db/notes", "from-page", { key: service.service_role, headers: { "x-svc-dashboard": "1" } })
    assert.strictEqual((await one("from-page"))?.dashboard, true)
    assert.deepStrictEqual((await list("?request_id=from-page&dashboard=false")).requests, [])
    const refused = (await list("?status=4xx&limit=1000")).requests
    assert.isAbove(refused.length, 3)
    for (const { status } of refused) assert.strictEqual(Math.floor(status / 100), 4)
    const mine = (await list(`?key=${limited.id}`)).requests
    assert.includeMembers(
      mine.map(({ request_id }) => request_id),
      ["allowed", "refused", "anon-management"]
    )
    const two = (await list("?limit=2")).requests
    assert.strictEqual(two.length, 2)
    assert.isAtLeast(Date.parse(two[0]?.at ?? ""), Date.parse(two[1]?.at ?? ""))
  })

  it("keeps errors when a thousand other requests have followed", async () => {
    await send("GET /v1/db/absent", "old-error", { key: service.service_role })
    await send("GET /v1/db/notes", "old-success", { key: service.service_role })
    for (let i = 0; i < 22; i++) {
      await Promise.all(Array.from({ length: 50 }, () => ask(service, "GET /api/dashboard/config")))
    }
    assert.isUndefined(await one("old-success"))
    assert.strictEqual((await one("old-error"))?.status, 404)
    assert.strictEqual((await list("?limit=1000")).requests.length, 1000)
  })

  it("counts by key, without those of the dashboard", async () => {
    const body = { keyType: "service_role", label: "counted" }
    const made = (await ask(service, "POST /api/keys", { key: service.service_role, body })).json
    const { key, secret } = made as { readonly key: { readonly id: number }; readonly secret: string }
    for (const path of ["/v1/keys", "/v1/keys", "/v1/db/absent"]) await ask(service, `GET ${path}`, { key: secret })
    await ask(service, "GET /v1/status", { key: secret, headers: { "x-svc-dashboard": "1" } })
    const counts = (await ask(service, "GET /api/requests/keys", { key: service.service_role })).json as RequestKeys
    assert.strictEqual(counts.processes, 1)
    assert.deepStrictEqual(
      counts.keys.filter(({ key_id }) => key_id === key.id),
      [{ key_id: key.id, requests: 3, refused: 1, errors: 0 }]
    )
  })

  it("counts by minute and by route", async () => {
    const counts = async (query = "") =>
      (await ask(service, `GET /api/requests/minutes${query}`, { key: service.service_role })).json as RequestCounts
    const before = await counts("?route=/v1/keys&method=GET")
    for (let i = 0; i < 5; i++) await ask(service, "GET /v1/keys", { key: service.service_role })
    for (let i = 0; i < 3; i++) await ask(service, "GET /v1/keys", { key: service.anon })
    const after = await counts("?route=/v1/keys&method=GET")
    const sum = ({ minutes }: RequestCounts, of: "requests" | "refused") =>
      minutes.reduce((all, minute) => all + minute[of], 0)
    assert.deepStrictEqual(
      [sum(after, "requests") - sum(before, "requests"), sum(after, "refused") - sum(before, "refused")],
      [8, 3]
    )
    assert.strictEqual(after.processes, 1)
    const [route, ...others] = after.routes
    assert.deepStrictEqual(others, [])
    assert.deepInclude(route, { method: "GET", route: "/v1/keys" })
    assert.strictEqual((route?.statuses["200"] ?? 0) + (route?.statuses["403"] ?? 0), route?.requests)
    assert.isAbove(route?.p95 ?? 0, 0)
    await ask(service, "GET /v1/keys", { key: service.service_role, headers: { "x-svc-dashboard": "1" } })
    const [whole, ofApps] = [await counts("?route=/v1/keys"), await counts("?route=/v1/keys&dashboard=false")]
    assert.strictEqual(sum(whole, "requests") - sum(ofApps, "requests"), 1)
    const all = await counts()
    assert.isAbove(all.routes.length, 5)
    assert.isAtMost(Date.now() - Date.parse(all.minutes.at(-1)?.minute ?? ""), 61_000)
  })
})

describe("the access log", () => {
  type Line = Readonly<Record<string, unknown>>
  const linesOf = (id: string): ReadonlyArray<Line> =>
    service
      .output()
      .split("\n")
      .filter((line) => line.includes('"log":"access"') && line.includes(`"request_id":"${id}"`))
      .map((line) => JSON.parse(line) as Line)
  const lineOf = async (id: string) => {
    const [line, ...others] = await until(
      async () => linesOf(id),
      (lines) => lines.length > 0
    )
    assert.deepStrictEqual(others, [])
    return line ?? {}
  }

  it("has a line of JSON for each request, with who sent it from where, and what became of it", async () => {
    const sub = "8b2f1c52-2a53-4b5d-9b9e-3d0cde5e4a11"
    const token = hs256(JSON.stringify({ sub, role: "authenticated" }), undefined, service.jwtSecret)
    const from = { "x-forwarded-for": "203.0.113.7" }
    const reply = await send("GET /v1/db/notes?note=eq.secret-value", "access-1", {
      key: service.anon,
      token,
      headers: from
    })
    assert.strictEqual(reply.status, 200, reply.text)
    const line = await lineOf("access-1")
    assert.deepInclude(line, {
      level: "INFO",
      method: "GET",
      path: "/v1/db/notes",
      route: "/v1/db/{table}",
      status: 200,
      code: null,
      bytes_in: 0,
      bytes_out: reply.text.length,
      role: "authenticated",
      identity: sub,
      client: "203.0.113.7",
      dashboard: false
    })
    assert.isAbove(Number(line["key"]), 0)
    assert.isAbove(Number(line["milliseconds"]), 0)
    assert.closeTo(Date.parse(String(line["timestamp"])), Date.now(), 60_000)
    const body = { keyType: "wrong" }
    await send("POST /api/keys", "access-2", { key: service.service_role, body })
    assert.deepInclude(await lineOf("access-2"), {
      level: "WARN",
      status: 400,
      code: "INVALID_REQUEST",
      bytes_in: JSON.stringify(body).length,
      role: "service_role",
      identity: null
    })
    await send("GET /v1/db/notes", "access-3")
    assert.deepInclude(await lineOf("access-3"), { status: 401, key: null, role: null })
  })

  it("has the bytes of a streamed response, once it has ended", async () => {
    const reply = await send("GET /api/identities/export", "access-stream", { key: service.service_role })
    assert.strictEqual(reply.status, 200, reply.text)
    assert.isAbove(Number((await lineOf("access-stream"))["bytes_out"]), reply.text.length)
  })

  it("has no secrets, and lines that no one can break", async () => {
    const { host } = new URL(service.url)
    const path = `/v1/db/%0a\u001b[2J\u0085\u009b31m"\\${service.service_role}`
    await talk(
      service,
      `GET ${path}?apikey=secret-value HTTP/1.1\r\nhost: ${host}\r\nx-request-id: access-hostile\r\nconnection: close\r\n\r\n`
    )
    await send("GET /v1/db/notes", "access\tbad", { key: service.anon })
    await send("GET /v1/db/notes?select=x", "access-last", { key: service.anon, headers: { cookie: "secret-value=1" } })
    await lineOf("access-last")
    const lines = service.output().split("\n")
    for (const line of lines.filter((text) => text.includes('"log":"access"'))) {
      assert.doesNotThrow(() => JSON.parse(line), line)
      assert.notMatch(line, /[\p{Cc}\u2028\u2029]/u)
    }
    assert.notInclude(service.output(), "secret-value")
    assert.notInclude(service.output(), service.service_role)
  })

  it("loses no line when the service stops", async () => {
    for (let i = 0; i < 50; i++) await send("GET /v1/db/notes", `access-end-${i}`, { key: service.anon })
    await stop()
    for (let i = 0; i < 50; i++) assert.strictEqual(linesOf(`access-end-${i}`).length, 1, String(i))
  })
})
