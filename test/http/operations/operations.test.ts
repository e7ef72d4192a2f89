import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { execFileSync, spawnSync } from "node:child_process"
import { request } from "node:http"
import { catalogue } from "../../../src/domain/metrics/Catalogue.ts"
import { ask, assertRefused, sql, talk } from "../../support/client.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { elsewhere, logIn, register } from "../../support/identity/people.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { parseMetrics, valueOf } from "../../support/metrics.ts"
import { operationsUrl, until } from "../../support/service.ts"
import { openFeed, subscribe } from "../../support/realtime/feed.ts"
import { startReceiver } from "../../support/webhooks/receiver.ts"

let service: InProcessService
let operations: { readonly url: string }
const operationsOf = (service: InProcessService) => ({ url: operationsUrl(service) })
beforeAll(async () => {
  service = await serveInProcess({ SVC_OPERATIONS_PORT: "0", WEBHOOK_ALLOW_PRIVATE: "true" })
  operations = operationsOf(service)
  await sql(service, "create table notes (id int primary key, note text)")
})
afterAll(() => service[Symbol.asyncDispose]())

const openMetrics = { accept: "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.1" }
const read = async () => {
  const { headers, status, text } = await ask(operations, "GET /metrics", { headers: openMetrics })
  assert.strictEqual(status, 200, text)
  assert.strictEqual(headers.get("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8")
  return parseMetrics(text, "openmetrics")
}
/** What has happened since `before`; a text is served for a second. */
const grown = async (before: Awaited<ReturnType<typeof read>>, name: string, labels: Record<string, string>, by = 1) =>
  until(
    async () => valueOf(await read(), name, labels) - valueOf(before, name, labels),
    (now) => now >= by,
    6_000
  ).then((now) => assert.strictEqual(now, by, `${name} ${JSON.stringify(labels)}`))

describe("the operations port", () => {
  it("answers probes as the main port does, and has nothing else", async () => {
    for (const path of ["/healthz", "/readyz"]) {
      const [here, there] = await Promise.all([operations, service].map((port) => ask(port, `GET ${path}`)))
      assert.deepStrictEqual([here?.status, here?.text], [200, there?.text])
      assert.strictEqual((await ask(operations, `HEAD ${path}`)).status, 200)
    }
    for (const path of ["/", "/v1/db/notes", "/api/requests", "/metrics/", "//metrics"]) {
      const reply = await ask(operations, `GET ${path}`, { key: service.service_role })
      assert.deepStrictEqual([reply.status, (reply.json as { code: string }).code], [404, "NOT_FOUND"], path)
    }
    assertRefused(await ask(operations, "POST /metrics"), 405, "METHOD_NOT_ALLOWED")
    assert.strictEqual((await ask(service, "GET /metrics", { key: service.service_role })).status, 404)
    assert.match(await talk(operations, "nonsense\r\n\r\n"), /^HTTP\/1\.1 400 /)
  })

  it("is not read by a page whose own name resolves to this machine", async () => {
    const ofHost = (host: string) =>
      new Promise<number | undefined>((done, failed) => {
        request(`${operations.url}/metrics`, { headers: { host } }, (response) => {
          response.resume()
          done(response.statusCode)
        })
          .once("error", failed)
          .end()
      })
    assert.deepStrictEqual(
      await Promise.all(["evil.example:9464", "127.0.0.1", "localhost:9464", "[::1]:1", "169.254.1.1"].map(ofHost)),
      [403, 200, 200, 200, 200]
    )
  })

  it("serves metrics with its key only, if it has one", async () => {
    const key = "a-key-of-the-operations-port"
    await using closed = await serveInProcess({
      SVC_OPERATIONS_PORT: "0",
      SVC_OPERATIONS_HOST: "0.0.0.0",
      SVC_OPERATIONS_KEY: key
    })
    const port = operationsOf(closed)
    for (const headers of [
      {},
      { authorization: key },
      { authorization: `Bearer ${key}x` },
      { apikey: closed.service_role }
    ]) {
      const refused = await ask(port, "GET /metrics", { headers })
      assertRefused(refused, 401, "UNAUTHENTICATED")
      assert.strictEqual(refused.headers.get("www-authenticate"), "Bearer")
    }
    assert.strictEqual((await ask(port, "GET /metrics", { token: key })).status, 200)
    assert.strictEqual((await ask(port, "GET /healthz")).status, 200)
  })
})

describe("metrics", () => {
  it("follow the formats of Prometheus and OpenMetrics, with every metric in the catalogue and no other", async () => {
    const plain = await ask(operations, "GET /metrics")
    assert.strictEqual(plain.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
    const families = parseMetrics(plain.text, "text")
    // Those of S3 begin with the first call, as those of functions; those of hooks and of the write-ahead log are tested
    // with them.
    const later = new Set([
      "svc_backup_verified_age_seconds",
      "svc_hook_calls_total",
      "svc_function_calls_total",
      "svc_function_memory_bytes",
      "svc_function_processes",
      "svc_s3_operations_total",
      "svc_s3_endpoint_requests_total"
    ])
    const expected = Object.keys(catalogue).filter((name) => !later.has(name) && !/^svc_(changes|pitr)_/.test(name))
    assert.includeMembers([...families.keys()], expected)
    for (const [name, { series }] of families) {
      const { labels } = catalogue[name as keyof typeof catalogue]
      for (const one of series) {
        const { le: _, ...given } = one.labels
        assert.sameMembers(Object.keys(given), [...labels], name)
      }
    }
    const promtool = spawnSync("promtool", ["--version"]).status === 0
    if (promtool) execFileSync("promtool", ["check", "metrics"], { input: plain.text })
  })

  it("count requests by route, never by path, and refusals by code", async () => {
    const before = await read()
    const body = { keyType: "anon", label: "limited", rate_limit: 1 }
    const made = (await ask(service, "POST /api/keys", { key: service.service_role, body })).json as { secret: string }
    for (const _ of [1, 2, 3]) await ask(service, "GET /v1/db/notes?id=eq.1", { key: made.secret })
    await Promise.all(Array.from({ length: 50 }, (_, at) => ask(service, `GET /nowhere-${at}/metrics-test`)))
    const route = "/v1/db/{table}"
    await grown(before, "svc_http_requests_total", { route, method: "GET", status: "429" }, 2)
    await grown(before, "svc_http_requests_total", { route, method: "GET", status: "200" }, 1)
    await grown(before, "svc_http_request_duration_seconds_count", { route, method: "GET" }, 3)
    await grown(before, "svc_http_requests_total", { route: "none", method: "GET", status: "404" }, 50)
    await grown(before, "svc_http_refusals_total", { code: "RATE_LIMITED" }, 2)
    const { text } = await ask(operations, "GET /metrics")
    for (const secret of [made.secret, service.anon, "nowhere", "limited", "notes"]) assert.notInclude(text, secret)
  })

  it("count statements, and show each lane of the pools", async () => {
    const [statements, byKeys] = ["svc_db_statements_total", { role: "service_role" }] as const
    const before = await read()
    await ask(service, "GET /v1/db/notes?order=id", { key: service.service_role })
    await ask(service, "POST /v1/db/notes", { key: service.service_role, body: { id: 1, note: "n" } })
    // A statement that took too long on a shared connection runs once more on another.
    const counted = await until(
      async () => valueOf(await read(), statements, byKeys) - valueOf(before, statements, byKeys),
      (count) => count >= 2,
      6_000
    )
    assert.isAtLeast(counted, 2)
    const now = await read()
    const lanes = ["exclusive", "shared_reads", "shared_writes", "user_code", "sql"]
    for (const lane of lanes) {
      assert.isAbove(
        valueOf(now, "svc_db_connections_limit", { database: "main", role: "service_role", lane }),
        0,
        lane
      )
      assert.strictEqual(valueOf(now, "svc_db_waiting", { database: "main", lane }), 0, lane)
    }
    assert.isAbove(valueOf(now, "svc_db_connections", { lane: "exclusive", state: "idle" }), 0)
    assert.isAbove(valueOf(now, "svc_db_connections", { lane: "own_tables" }), 0)
  })

  it("count flags, objects, sign-ins, deliveries and realtime", async () => {
    await using receiver = await startReceiver()
    const { service_role: key } = service
    const before = await read()

    const flag = {
      key: "beta",
      type: "boolean",
      variants: { on: true, off: false },
      defaultVariant: "off",
      state: "ENABLED"
    }
    const createdFlag = await ask(service, "POST /api/flags", { key, body: flag })
    assert.isBelow(createdFlag.status, 300, createdFlag.text)
    const evaluated = await ask(service, "POST /api/flags/evaluate", { key, body: { flagKey: "beta", context: {} } })
    assert.strictEqual(evaluated.status, 200, evaluated.text)

    const bucket = await ask(service, "POST /api/storage/buckets", { key, body: { name: "metrics-bucket" } })
    assert.isBelow(bucket.status, 300, bucket.text)

    const { email, password } = await register(service)
    assert.strictEqual((await logIn(service, email, password)).status, 200)
    assert.strictEqual((await logIn(service, freshEmail(), "wrong", elsewhere())).status, 401)

    const webhook = {
      name: "n",
      table_schema: "public",
      table_name: "notes",
      events: ["INSERT"],
      url: `${receiver.url}/hook`
    }
    const createdHook = await ask(service, "POST /api/webhooks", { key, body: webhook })
    assert.isBelow(createdHook.status, 300, createdHook.text)
    await subscribe(service, "notes")
    const feed = await openFeed(service, { key })
    await sql(service, "insert into notes values (77, 'hooked')")
    await receiver.count("/hook", 1)

    await grown(before, "svc_realtime_messages_total", {})
    await grown(before, "svc_realtime_clients", {})
    feed.socket.close()
    await feed.closed
    await grown(before, "svc_flag_evaluations_total", { environment: "production" })
    assert.isAbove(
      valueOf(await read(), "svc_s3_operations_total", { operation: "CreateBucket", outcome: "succeeded" }),
      0
    )
    assert.isAbove(valueOf(await read(), "svc_s3_endpoint_requests_total", { method: "PUT" }), 0)
    assert.isAbove(valueOf(await read(), "svc_s3_endpoint_bytes_total", { direction: "received" }), 0)
    await grown(before, "svc_sign_ins_total", { method: "password" }, 2)
    await grown(before, "svc_sign_ins_refused_total", { reason: "credentials" })
    await grown(before, "svc_webhook_deliveries_total", { outcome: "succeeded" })

    receiver.answer = () => ({ status: 500 })
    await sql(service, "insert into notes values (78, 'refused')")
    await grown(before, "svc_webhook_deliveries_total", { outcome: "failed" })
    await grown(new Map(), "svc_webhook_outbox_messages", {}, 1)
    const text = (await ask(operations, "GET /metrics")).text
    for (const secret of [email, "beta", "metrics-bucket", receiver.url]) assert.notInclude(text, secret)
  })
})
