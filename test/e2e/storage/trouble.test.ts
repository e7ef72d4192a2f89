import { createServer, type Server, type ServerResponse } from "node:http"
import { type AddressInfo } from "node:net"
import { afterAll, assert, beforeAll, it } from "vitest"
import { ask, assertRefused } from "../../support/client.ts"
import { runToEnd, type Service, startService } from "../../support/service.ts"

type Answer = (response: ServerResponse) => void

const refusing =
  (status: number, code: string): Answer =>
  (response) => {
    response.writeHead(status, { "content-type": "application/xml" })
    response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>of the store</Message></Error>`)
  }

/** A server in place of the store; each test sets its response. */
let answer: Answer = (response) => response.end()
let requests = 0
let store: Server
let service: Service

beforeAll(async () => {
  store = createServer((request, response) => {
    requests++
    request.resume().once("end", () => answer(response))
  })
  await new Promise<void>((done) => store.listen(0, "127.0.0.1", done))
  service = await startService({
    env: {
      S3_ENDPOINT: `http://127.0.0.1:${(store.address() as AddressInfo).port}`,
      S3_PUBLIC_ENDPOINT: "https://files.example.com",
      S3_ACCESS_KEY: "key",
      S3_SECRET_KEY: "the store's secret",
      S3_REGION: "eu-central-2",
      S3_TIMEOUT: "3s",
      S3_CONSOLE_URL: "https://console.example.com/browser/"
    }
  })
})

afterAll(async () => {
  await service[Symbol.asyncDispose]()
  store.closeAllConnections()
  await new Promise((done) => store.close(done))
})

const get = (path = "/api/storage/buckets/abc/objects") => ask(service, `GET ${path}`, { key: service.service_role })
const post = (path: string, body: object) =>
  ask(service, `POST /api/storage/buckets/abc/objects/${path}`, { key: service.service_role, body })

it("returns 504 when the store is slow", async () => {
  answer = () => undefined
  const began = Date.now()
  const both = await Promise.all([get(), get("/v1/storage/buckets")])
  for (const reply of both) assertRefused(reply, 504, "STORE_TIMEOUT")
  assert.isBelow(Date.now() - began, 5000)
})

it("returns 502 without details when the store closes the connection, is not a store, or rejects the credentials", async () => {
  answer = (response) => response.destroy()
  requests = 0
  assertRefused(await get(), 502, "STORE_UNAVAILABLE")
  assert.strictEqual(requests, 3, "retried")
  answer = (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html><p>Hello</html>")
  assertRefused(await get(), 502, "STORE_UNAVAILABLE")
  answer = (response) => response.writeHead(301, { location: "https://elsewhere.example" }).end()
  assertRefused(await get(), 502, "STORE_UNAVAILABLE")
  answer = refusing(500, "InternalError")
  assertRefused(await get(), 502, "STORE_UNAVAILABLE")
  for (const code of ["InvalidAccessKeyId", "SignatureDoesNotMatch"]) {
    answer = refusing(403, code)
    assertRefused(await get(), 502, "STORE_CREDENTIALS_REFUSED")
  }
  assert.notInclude(service.output(), "the store's secret")
})

it("passes on the store's errors about the request", async () => {
  answer = refusing(403, "AccessDenied")
  assertRefused(await get(), 403, "STORE_ACCESS_DENIED")
  answer = refusing(400, "InvalidArgument")
  assertRefused(await get(), 400, "STORE_REFUSED")
  answer = refusing(501, "NotImplemented")
  assertRefused(await get(), 502, "STORE_UNSUPPORTED")
  answer = refusing(404, "NoSuchBucket")
  assertRefused(await get(), 404, "BUCKET_NOT_FOUND")
  for (const [status, code] of [
    [507, "InsufficientStorage"],
    [507, "XMinioStorageFull"],
    [507, "Whatever"]
  ] as const) {
    answer = refusing(status, code)
    const full = await post("upload-text", { key: "k", content: "x", contentType: "a/b" })
    assert.include(String(assertRefused(full, 503, "STORE_NO_SPACE")["error"]), "disk is full")
    assert.strictEqual(full.headers.get("retry-after"), "10")
  }
  answer = refusing(503, "SlowDown")
  const busy = await get()
  assertRefused(busy, 503, "STORE_BUSY")
  assert.strictEqual(busy.headers.get("retry-after"), "2")
})

it("reports the keys that the store did not delete in a bulk delete", async () => {
  answer = (response) =>
    response.end(
      `<DeleteResult><Error><Key>b</Key><Code>AccessDenied</Code><Message>Locked</Message></Error></DeleteResult>`
    )
  const reply = await post("bulk-delete", { keys: ["a", "b"] })
  assert.deepStrictEqual(reply.json, {
    deleted: ["a"],
    errors: [{ key: "b", code: "AccessDenied", message: "Locked" }]
  })
})

it.each(["InsufficientStorage", "XMinioStorageFull"])(
  "returns 503 when the disk of the store is full: %s",
  async (code) => {
    answer = refusing(507, code)
    assertRefused(
      await post("upload-text", { key: "k", content: "x", contentType: "text/plain" }),
      503,
      "STORE_NO_SPACE"
    )
  }
)

it("signs URLs for the public endpoint and the configured region", async () => {
  answer = (response) => response.end()
  const reply = await post("presign-upload", { key: "k", contentType: "a/b" })
  assert.strictEqual(reply.status, 200, reply.text)
  const url = new URL((reply.json as { url: string }).url)
  assert.strictEqual(url.origin, "https://files.example.com")
  assert.strictEqual(url.pathname, "/abc/k")
  assert.include(url.searchParams.get("X-Amz-Credential"), "/eu-central-2/s3/aws4_request")
  assert.strictEqual(url.searchParams.get("X-Amz-SignedHeaders"), "content-type;host")
  assert.isFalse(
    [...url.searchParams.keys()].some((name) => /checksum/i.test(name)),
    url.href
  )
})

it("has the store's console in its status", async () => {
  const { json } = await ask(service, "GET /v1/status", { key: service.service_role })
  assert.deepInclude(json, { storage: { console_url: "https://console.example.com/browser" } })
})

it("fails to start if a setting is missing", async () => {
  const env = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none", S3_ENDPOINT: "https://s3.example.com" }
  const { code, output } = await runToEnd(env)
  assert.strictEqual(code, 1, output)
  assert.strictEqual(output.trim(), "svc: S3_ACCESS_KEY must be set when S3_ENDPOINT is set")
})
