import { createClient } from "@supabase/supabase-js"
import { once } from "node:events"
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
  type Server
} from "node:http"
import { type AddressInfo } from "node:net"
import { afterAll, assert, beforeAll, it } from "vitest"
import { hs256 } from "../../support/access/jwts.ts"
import { ask, replyOf, talk } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

const ann = "11111111-1111-4111-8111-111111111111"

let upstream: Server
let service: InProcessService
let aborted: Promise<unknown>
const received: Array<string> = []

/** The server of the functions. */
const serve = () => {
  let gone: (value: unknown) => void = () => undefined
  aborted = new Promise((resolve) => (gone = resolve))
  return createServer((request, response) => {
    received.push(request.url ?? "")
    switch (/^\/base\/([\w-]+)/.exec(request.url ?? "")?.[1]) {
      case "echo":
        // Each piece is answered as it arrives.
        response.writeHead(200, { "content-type": "text/plain" })
        request.on("data", (chunk: Buffer) => response.write(`<${chunk.toString()}>`))
        request.on("end", () => response.end())
        return
      case "headers":
        response.setHeader("set-cookie", "svc_session=stolen")
        response.setHeader("x-own", "1")
        response.setHeader("content-type", "application/json")
        response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers }))
        return
      case "teapot":
        response.writeHead(418, { "content-type": "application/json" }).end('{"tea":true}')
        return
      case "away":
        response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()
        return
      case "never":
        response.once("close", gone)
        return
      case "broken":
        request.socket.destroy()
        return
      default:
        response.writeHead(404).end("no such function")
    }
  })
}

beforeAll(async () => {
  upstream = serve().listen(0, "127.0.0.1")
  await once(upstream, "listening")
  const { port } = upstream.address() as AddressInfo
  service = await serveInProcess({
    SVC_SUPABASE: "true",
    SVC_FUNCTIONS_URL: `http://127.0.0.1:${port}/base/`,
    SVC_FUNCTIONS_TIMEOUT: "300ms"
  })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  upstream.closeAllConnections()
  upstream.close()
})

const jwt = () =>
  hs256(JSON.stringify({ sub: ann, exp: Math.floor(Date.now() / 1000) + 60 }), undefined, service.jwtSecret)

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

it("supabase-js invokes functions, which learn who calls", async () => {
  const anon = createClient(service.url, service.anon)
  const { data, error } = await anon.functions.invoke<Seen>("headers", {
    body: { a: 1 },
    headers: {
      "x-svc-role": "service_role",
      // CGI, WSGI and PHP read these as the names with hyphens.
      X_Svc_Role: "service_role",
      x_svc_user: "root",
      "x.svc.role": "service_role",
      x_forwarded_for: "10.0.0.1",
      my_header: "kept",
      "x-svc-user": "root",
      cookie: "svc_session=x"
    }
  })
  assert.isNull(error)
  const seen = (typeof data === "string" ? JSON.parse(data) : data) as Seen
  assert.strictEqual(seen.method, "POST")
  assert.strictEqual(seen.url, "/base/headers")
  assert.deepInclude(seen.headers, { "x-svc-role": "anon", "x-forwarded-for": "127.0.0.1", apikey: service.anon })
  const read = Object.keys(seen.headers).map((name) => name.replaceAll(/[^a-z0-9]/g, "-"))
  for (const name of ["x-svc-user", "cookie"]) assert.notInclude(read, name)
  for (const name of ["x-svc-role", "x-forwarded-for"]) {
    assert.strictEqual(read.filter((one) => one === name).length, 1, name)
  }
  assert.strictEqual(seen.headers["my_header"], "kept")
  const user = await ask(service, "GET /functions/v1/headers/sub/path?q=%2F..", { token: jwt() })
  assert.include((user.json as Seen).headers, { "x-svc-role": "authenticated", "x-svc-user": ann })
  assert.strictEqual((user.json as Seen).url, "/base/headers/sub/path?q=%2F..")
  assert.isNull(user.headers.get("set-cookie"))
  assert.strictEqual(user.headers.get("x-own"), "1")
  assert.match(user.headers.get("content-security-policy") ?? "", /sandbox/)
  const failed = await anon.functions.invoke("teapot")
  assert.strictEqual(failed.error?.name, "FunctionsHttpError")
  const { context } = failed.error as { context: Response }
  assert.deepStrictEqual([context.status, await context.json()], [418, { tea: true }])
})

it("needs a live key or a valid JWT", async () => {
  const before = received.length
  assert.strictEqual((await ask(service, "POST /functions/v1/headers")).status, 401)
  assert.strictEqual((await ask(service, "POST /functions/v1/headers", { key: "x" })).status, 401)
  assert.strictEqual((await ask(service, "POST /functions/v1/headers", { token: `${jwt()}x` })).status, 401)
  assert.strictEqual(received.length, before)
})

it("streams in both directions", async () => {
  const { port, hostname } = new URL(service.url)
  const request = requestHttp({
    hostname,
    port,
    path: "/functions/v1/echo",
    method: "POST",
    headers: { apikey: service.anon }
  })
  request.write("one")
  const [response] = (await once(request, "response")) as [IncomingMessage]
  const pieces: Array<string> = []
  for await (const piece of response as AsyncIterable<Buffer>) {
    // The second one is sent only after the first has come back.
    if (pieces.push(piece.toString()) === 1) request.end("two")
  }
  assert.deepStrictEqual(pieces, ["<one>", "<two>"])
})

it("does not leave the server and its paths", async () => {
  const before = received.length
  for (const path of [
    "/functions/v1/..",
    "/functions/v1/headers/../../admin",
    "/functions/v1/headers/%2e%2E/admin",
    "/functions/v1/headers/%252e%252e/admin",
    "/functions/v1/headers/a%2f..%2fb",
    "/functions/v1/headers/..%5cadmin",
    "/functions/v1/headers/%00",
    "/functions/v1/@evil.example",
    "/functions/v1//evil.example/x",
    "/functions/v1/http:%2f%2fevil"
  ]) {
    const raw = await talk(
      service,
      `GET ${path} HTTP/1.1\r\nhost: evil.example\r\napikey: ${service.anon}\r\nconnection: close\r\n\r\n`
    )
    assert.oneOf(replyOf(raw).status, [400, 404], path)
  }
  assert.strictEqual(received.length, before)
  // Absolute URLs name this service only.
  const absolute = await talk(
    service,
    `GET http://evil.example/functions/v1/headers HTTP/1.1\r\nhost: evil.example\r\napikey: ${service.anon}\r\nconnection: close\r\n\r\n`
  )
  assert.deepStrictEqual([replyOf(absolute).status, received.at(-1)], [200, "/base/headers"])
  const redirect = await fetch(`${service.url}/functions/v1/away`, {
    redirect: "manual",
    headers: { apikey: service.anon }
  })
  assert.deepStrictEqual([redirect.status, redirect.headers.get("location")], [302, "http://127.0.0.1:1/"])
})

it("removes headers of the connection, also those that it names", async () => {
  const raw = await talk(
    service,
    `GET /functions/v1/headers HTTP/1.1\r\nhost: x\r\napikey: ${service.anon}\r\nconnection: close, x-secret\r\nx-secret: 1\r\nte: trailers\r\nproxy-authorization: Basic x\r\n\r\n`
  )
  const body = raw.slice(raw.indexOf("{"), raw.lastIndexOf("}") + 1)
  const { headers } = JSON.parse(body) as Seen
  for (const name of ["x-secret", "te", "proxy-authorization"]) assert.notProperty(headers, name)
  assert.match(headers.host ?? "", /^127\.0\.0\.1:\d+$/)
})

it("a function that fails or is too slow is an error of the relay", async () => {
  const anon = createClient(service.url, service.anon)
  for (const [name, status] of [
    ["never", 504],
    ["broken", 502]
  ] as const) {
    const { error } = await anon.functions.invoke(name)
    assert.strictEqual(error?.name, "FunctionsRelayError", name)
    assert.strictEqual((error as { context: Response }).context.status, status)
  }
  // A caller that leaves ends the call.
  await aborted
})

it("refuses bodies over 100 MiB", async () => {
  const raw = await talk(
    service,
    `POST /functions/v1/headers HTTP/1.1\r\nhost: x\r\napikey: ${service.anon}\r\ncontent-length: ${101 * 1024 * 1024}\r\nconnection: close\r\n\r\n`
  )
  assert.strictEqual(replyOf(raw).status, 413)
})
