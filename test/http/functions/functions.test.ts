import { createClient } from "@supabase/supabase-js"
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, test } from "vitest"
import { hs256 } from "../../support/access/jwts.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { startS3 } from "../../support/storage/s3.ts"
import { isWithout } from "../../support/skips.ts"
import { operationsUrl, until } from "../../support/service.ts"

const ann = "11111111-1111-4111-8111-111111111111"
let service: InProcessService
let folder: string

const freePort = async () => {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return port
}

const write = (path: string, text: string) => {
  const file = join(folder, path)
  mkdirSync(join(file, ".."), { recursive: true })
  writeFileSync(file, text)
}

const it = test.skipIf(isWithout("deno"))

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "functions-"))
  write("_shared/cors.ts", `export const cors = { "x-shared": "yes" }`)
  write(
    "hello/index.ts",
    `import { cors } from "../_shared/cors.ts"
    Deno.serve(async (request) => {
      const { name } = await request.json()
      return new Response(JSON.stringify({ message: "Hello " + name + "!" }), { headers: { ...cors, "content-type": "application/json" } })
    })`
  )
  write(
    "who/index.ts",
    `Deno.serve((request) => Response.json({
      role: request.headers.get("x-svc-role"), user: request.headers.get("x-svc-user"),
      claims: JSON.parse(decodeURIComponent(request.headers.get("x-svc-claims") ?? "null")),
      cookie: request.headers.get("cookie"), url: request.url, method: request.method
    }))`
  )
  const port = await freePort()
  service = await serveInProcess({
    SVC_SUPABASE: "true",
    SVC_FUNCTIONS_DIR: folder,
    SVC_OPERATIONS_PORT: "0",
    SVC_FUNCTIONS_BLOCKED: "700ms",
    SVC_FUNCTIONS_TIMEOUT: "4s",
    SVC_FUNCTIONS_MEMORY: "200",
    SVC_ENCRYPTION_KEY: randomBytes(32).toString("hex"),
    PORT: String(port),
    PUBLIC_URL: `http://localhost:${port}`
  })
}, 60_000)
afterAll(() => service[Symbol.asyncDispose]())

const key = () => ({ key: service.service_role })
const deploy = async (name: string, code: string, more: object = {}) => {
  const reply = await ask(service, `PUT /api/functions/${name}`, {
    ...key(),
    body: { files: { "index.ts": code }, ...more }
  })
  assert.strictEqual(reply.status, 201, reply.text)
  return reply.json as { readonly version: number; readonly digest: string }
}
const called = (name: string, body?: unknown) => ask(service, `POST /v1/functions/${name}`, { key: service.anon, body })

it("serves functions of the folder at /functions/v1 and at /v1/functions", async () => {
  const own = await called("hello", { name: "Ann" })
  assert.deepStrictEqual([own.status, own.json, own.headers.get("x-shared")], [200, { message: "Hello Ann!" }, "yes"])
  const { data, error } = await createClient(service.url, service.anon).functions.invoke("hello", {
    body: { name: "Bob" }
  })
  assert.deepStrictEqual([data, error], [{ message: "Hello Bob!" }, null])
  assertRefused(await ask(service, "POST /v1/functions/hello", { body: {} }), 401, "INVALID_API_KEY")
  assertRefused(await called("nothing", {}), 404, "FUNCTION_NOT_FOUND")
  assertRefused(await called("_shared", {}), 404, "FUNCTION_NOT_FOUND")
})

it("names the verified caller, whatever the caller's own headers say", async () => {
  const token = hs256(JSON.stringify({ sub: ann, role: "authenticated", plan: "pro" }), undefined, service.jwtSecret)
  const headers = { "x-svc-role": "service_role", "x-svc-claims": "%7B%7D", cookie: "svc_session=1" }
  const { json, text } = await ask(service, "PUT /v1/functions/who/a/b?c=d", { key: service.anon, token, headers })
  const { claims, ...rest } = json as { readonly claims: Record<string, unknown> }
  assert.strictEqual(claims?.["plan"], "pro", text)
  assert.deepStrictEqual(rest, {
    role: "authenticated",
    user: ann,
    cookie: null,
    url: `${new URL(service.url).origin.replace("127.0.0.1", "localhost")}/who/a/b?c=d`,
    method: "PUT"
  })
  assert.include((await called("who")).json, { role: "anon", user: null, claims: null })
})

it("reads a changed file of the folder again", async () => {
  write("changing/index.ts", `Deno.serve(() => new Response("one"))`)
  await until(
    () => called("changing"),
    ({ text }) => text === "one"
  )
  write("changing/index.ts", `Deno.serve(() => new Response("two, longer"))`)
  await until(
    () => called("changing"),
    ({ text }) => text === "two, longer"
  )
})

it("deploys versions, and returns to an earlier one at once", async () => {
  const first = await deploy("greet", `Deno.serve(() => new Response("v1"))`)
  assert.deepStrictEqual([first.version, (await called("greet")).text], [1, "v1"])
  assert.strictEqual((await deploy("greet", `Deno.serve(() => new Response("v2"))`)).version, 2)
  await until(
    () => called("greet"),
    ({ text }) => text === "v2",
    1_000
  )
  const back = await ask(service, "POST /api/functions/greet/versions/1/select", key())
  assert.include(back.json, { name: "greet", version: 1, digest: first.digest })
  await until(
    () => called("greet"),
    ({ text }) => text === "v1",
    1_000
  )
  assertRefused(
    await ask(service, "POST /api/functions/greet/versions/9/select", key()),
    404,
    "FUNCTION_VERSION_NOT_FOUND"
  )
  const versions = await ask(service, "GET /api/functions/greet/versions", key())
  assert.deepStrictEqual(
    (versions.json as ReadonlyArray<{ version: number }>).map(({ version }) => version),
    [2, 1]
  )
  const files = await ask(service, "GET /api/functions/greet/versions/2/files", key())
  assert.include(files.json, { "index.ts": `Deno.serve(() => new Response("v2"))` })
  assert.strictEqual((await ask(service, "DELETE /api/functions/greet", key())).status, 200)
  await until(
    () => called("greet"),
    ({ status }) => status === 404,
    1_000
  )
  assertRefused(await ask(service, "PUT /api/functions/greet", { key: service.anon, body: { files: {} } }), 403)
})

it("refuses deployments that can't run", async () => {
  const refused = (files: object, more: object = {}) =>
    ask(service, "PUT /api/functions/bad", { ...key(), body: { files, ...more } })
  for (const text of ["Deno.serve(() => {", `import "npm:this-package-does-not-exist-anywhere@1.0.0"`]) {
    const { json, status } = await refused({ "index.ts": text })
    assert.deepInclude(json as object, { code: "FUNCTION_NOT_BUILT" })
    assert.strictEqual(status, 422)
    assert.include((json as { readonly details: string }).details, "index.ts:1:") // the position in the author's source
  }
  for (const path of ["../x.ts", "/etc/x", "a/../../x", "a//b", ".npmrc", "a\\..\\b", "a/./b"]) {
    assertRefused(await refused({ "index.ts": "", [path]: "" }), 400, "INVALID_REQUEST")
  }
  assertRefused(await refused({ "a.ts": "" }), 400, "INVALID_REQUEST")
  assertRefused(await ask(service, "PUT /api/functions/1bad", { ...key(), body: { files: { "index.ts": "" } } }), 400)
  assertRefused(await called("bad"), 404, "FUNCTION_NOT_FOUND")
})

it("deploys a tar archive, plain and compressed, and refuses what is no file of a function", async () => {
  const from = mkdtempSync(join(tmpdir(), "functions-tar-"))
  const put = (name: string, text: string) => writeFileSync(join(from, name), text)
  const tar = (...args: ReadonlyArray<string>) =>
    execFileSync("tar", ["-C", from, "-cf", "-", ...args], { maxBuffer: 64 * 1024 * 1024 })
  const deploy = async (name: string, body: Uint8Array, query = "") => {
    const response = await fetch(`${service.url}/api/functions/${name}${query}`, {
      method: "PUT",
      headers: { apikey: service.service_role, "content-type": "application/x-tar" },
      body: Uint8Array.from(body)
    })
    const text = await response.text()
    return { status: response.status, text, headers: response.headers, json: JSON.parse(text) as unknown }
  }
  put("main.ts", `import { word } from "./lib/word.ts"; Deno.serve(() => new Response(word))`)
  mkdirSync(join(from, "lib"))
  put("lib/word.ts", `export const word = "packed"`)
  const made = await deploy("packed", tar("."), "?entrypoint=main.ts&verify_jwt=false")
  assert.strictEqual(made.status, 201, made.text)
  assert.deepInclude(made.json as object, { version: 1, entrypoint: "main.ts", verify_jwt: false })
  assert.strictEqual(await (await fetch(`${service.url}/functions/v1/packed`)).text(), "packed")
  put("lib/word.ts", `export const word = "again"`)
  const again = await deploy("packed", tar("-z", "main.ts", "lib"), "?entrypoint=main.ts&verify_jwt=false")
  assert.strictEqual(again.status, 201, again.text)
  assert.strictEqual(await (await fetch(`${service.url}/functions/v1/packed`)).text(), "again")

  const refused = async (body: Uint8Array, words: string) => {
    const reply = await deploy("packed", body, "?entrypoint=main.ts")
    assert.strictEqual(reply.status, 400, reply.text)
    assert.include(reply.text, words)
  }
  symlinkSync("/etc/passwd", join(from, "link.ts"))
  await refused(tar("main.ts", "link.ts"), "link.ts as a symlink")
  await refused(tar("main.ts", "--transform", "s,main,../main,", "-P"), "Expected a relative path")
  await refused(Buffer.from("no archive"), "no tar archive")
  await refused(Buffer.alloc(0), "no tar archive")
  await refused(tar("main.ts").subarray(0, 700), "no tar archive")
  put("large.txt", "x".repeat(14 * 1024 * 1024))
  await refused(tar("-z", "main.ts", "large.txt"), "exceed 10 MiB")
  put("large.txt", "x".repeat(11 * 1024 * 1024))
  await refused(tar("main.ts", "large.txt"), "exceed 10 MiB")
  // More than other bodies may have, and what is documented.
  const large = { files: { "index.ts": `Deno.serve(() => new Response("large")) // ${"x".repeat(2 * 1024 * 1024)}` } }
  const reply = await ask(service, "PUT /api/functions/large", { key: service.service_role, body: large })
  assert.strictEqual(reply.status, 201, reply.text)
})

it("gives functions secrets, keys and the URL, of which nothing is shown or stored in plain text", async () => {
  await deploy("env", `Deno.serve(() => Response.json([Deno.env.toObject(), Deno.env.get("HOME") ?? null]))`)
  const set = await ask(service, "PUT /api/functions/secrets", { ...key(), body: { MAIL_TOKEN: "s3cr3t-value" } })
  assert.strictEqual(set.status, 200, set.text)
  const reply = await until(
    () => called("env"),
    ({ text }) => text.includes("MAIL_TOKEN"),
    2_000
  )
  const [env, home] = reply.json as [Record<string, string>, unknown]
  assert.strictEqual(home, null)
  assert.deepStrictEqual(Object.keys(env).toSorted(), [
    "MAIL_TOKEN",
    "SUPABASE_ANON_KEY",
    "SUPABASE_JWKS_URL",
    "SUPABASE_PUBLISHABLE_KEYS",
    "SUPABASE_SECRET_KEYS",
    "SUPABASE_SERVICE_ROLE_KEY",
    "SUPABASE_URL",
    "SVC_ANON_KEY",
    "SVC_FUNCTION_NAME",
    "SVC_FUNCTION_VERSION",
    "SVC_SERVICE_KEY",
    "SVC_URL"
  ])
  assert.strictEqual((await ask(service, "GET /v1/db/pg_missing", { key: `${env["SVC_SERVICE_KEY"]}` })).status, 404)
  const shown = await ask(service, "GET /api/functions/secrets", key())
  assert.notInclude(shown.text, "s3cr3t")
  assert.deepStrictEqual(
    (shown.json as ReadonlyArray<{ name: string }>).map(({ name }) => name),
    ["MAIL_TOKEN"]
  )
  const stored = await sql(service, "select name, sealed_value from svc.function_secrets")
  assert.strictEqual(stored.length, 3)
  assert.notInclude(JSON.stringify(stored), "s3cr3t")
  const audit = await ask(service, "GET /api/audit?limit=200", key())
  assert.include(audit.text, "function secrets")
  assert.notInclude(audit.text, "s3cr3t")
  for (const name of ["SVC_URL", "DENO_DIR", "SUPABASE_URL", "PATH", "HTTPS_PROXY", "lower", "LD_PRELOAD", "A=B"]) {
    assertRefused(await ask(service, "PUT /api/functions/secrets", { ...key(), body: { [name]: "x" } }), 400)
  }
  assert.strictEqual((await ask(service, "DELETE /api/functions/secrets/MAIL_TOKEN", key())).status, 200)
  await until(
    () => called("env"),
    ({ text }) => !text.includes("MAIL_TOKEN"),
    2_000
  )
  assertRefused(await ask(service, "DELETE /api/functions/secrets/SVC_SERVICE_KEY", key()), 404, "SECRET_NOT_FOUND")
})

it("lets functions call this service by its URL, with supabase-js", async () => {
  await sql(service, "create table todos (id int primary key, title text)")
  await sql(service, "insert into todos values (1, 'first')")
  await deploy(
    "rows",
    `import { createClient } from "npm:@supabase/supabase-js@2"
    Deno.serve(async () => {
      const client = createClient(Deno.env.get("SUPABASE_URL"), Deno.env.get("SUPABASE_SERVICE_ROLE_KEY"))
      return Response.json(await client.from("todos").select())
    })`
  )
  const { json } = await called("rows")
  assert.deepInclude(json as object, { error: null, data: [{ id: 1, title: "first" }] })
})

it("logs what functions print, with the request and the version", async () => {
  await deploy("logs", `Deno.serve((request) => { console.error("careful", { a: 1 }); return new Response("ok") })`)
  await ask(service, "POST /v1/functions/logs", { key: service.anon, headers: { "x-request-id": "req-77" } })
  const logs = await until(
    () => ask(service, "GET /api/functions/logs/logs", key()),
    ({ json }) => (json as ReadonlyArray<unknown>).length > 0
  )
  const [line] = logs.json as ReadonlyArray<{ readonly id: number }>
  assert.deepInclude(line as object, { level: "error", request_id: "req-77", text: "careful { a: 1 }", version: 1 })
  const next = await ask(service, `GET /api/functions/logs/logs?after=${line?.id}`, key())
  assert.deepStrictEqual(next.json, [])
})

it("follows what functions print, until the client goes", async () => {
  await deploy(
    "talks",
    `Deno.serve((request) => { console.log(new URL(request.url).search); return new Response("ok") })`
  )
  const say = async (text: string) => {
    const { status } = await ask(service, `POST /v1/functions/talks?${text}`, { key: service.anon })
    assert.strictEqual(status, 200)
  }
  await say("one")
  await until(
    () => ask(service, "GET /api/functions/talks/logs", key()),
    ({ text }) => text.includes("?one")
  )
  const ends = new AbortController()
  const response = await fetch(`${service.url}/api/functions/talks/logs?follow=true`, {
    headers: { apikey: service.service_role },
    signal: ends.signal
  })
  assert.strictEqual(response.headers.get("content-type"), "application/x-ndjson")
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let received = ""
  const receive = async (text: string) => {
    while (!received.includes(text)) received += (await reader.read()).value ?? ""
  }
  await receive("?one")
  for (const text of ["two", "three"]) {
    await say(text)
    await receive(`?${text}`)
  }
  const lines = received.trim().split(/\n+/)
  assert.deepStrictEqual(
    lines.map((line) => (JSON.parse(line) as { readonly text: string }).text),
    ["?one", "?two", "?three"]
  )
  const { id } = JSON.parse(lines[1] ?? "") as { readonly id: number }
  ends.abort()
  const others = new AbortController()
  const after = await fetch(`${service.url}/api/functions/talks/logs?follow=true&after=${id}`, {
    headers: { apikey: service.service_role },
    signal: others.signal
  })
  const first = await (after.body as ReadableStream<Uint8Array>).getReader().read()
  assert.include(Buffer.from(first.value ?? []).toString(), "?three")
  others.abort()
  assertRefused(await ask(service, "GET /api/functions/talks/logs?follow=true", { key: service.anon }), 403)
})

it("is tried by an administrator as any caller, without headers that only the service sets", async () => {
  const attempt = async (name: string, body: object) => {
    const reply = await ask(service, `POST /api/functions/${name}/call`, { ...key(), body })
    return { ...reply, result: reply.json as { status: number; headers: Record<string, string>; body: string } }
  }
  const hello = await attempt("hello", { body: `{"name":"Ann"}` })
  assert.include(hello.result, { status: 200, body: `{"message":"Hello Ann!"}` }, hello.text)
  assert.include(hello.result.headers, { "content-type": "application/json", "x-shared": "yes" })
  const who = async (body: object) => JSON.parse((await attempt("who", body)).result.body) as Record<string, unknown>
  assert.include(await who({}), { role: "service_role", user: null })
  assert.include(await who({ as: { role: "anon" }, headers: { "X-Svc-User": "eve", cookie: "a=b" } }), {
    role: "anon",
    user: null,
    cookie: null
  })
  const person = await who({
    method: "GET",
    path: "/a?b=c",
    as: { role: "authenticated", sub: ann, claims: { plan: "pro", role: "service_role" } }
  })
  assert.deepInclude(person, {
    role: "authenticated",
    user: ann,
    method: "GET",
    claims: { plan: "pro", sub: ann, role: "authenticated" }
  })
  assert.match(String(person["url"]), /\/who\/a\?b=c$/)
  for (const body of [{ path: "/../greet" }, { path: "/%2e%2e/greet" }, { path: "x" }, { headers: { "a b": "c" } }]) {
    assertRefused(await attempt("who", body), 400, "INVALID_REQUEST")
  }
  assertRefused(await attempt("nothing", {}), 404, "FUNCTION_NOT_FOUND")
  const anonymous = await ask(service, "POST /api/functions/who/call", { key: service.anon, body: {} })
  assertRefused(anonymous, 403)
})

it("lists functions of both kinds, with their calls, errors and why one fails", async () => {
  const listed = async (name: string) => {
    const { json } = await ask(service, "GET /api/functions", key())
    return (json as ReadonlyArray<Record<string, unknown>>).find((one) => one["name"] === name)
  }
  await deploy("fails", `Deno.serve(() => { throw new Error("no") })`)
  assert.include(await listed("fails"), { source: "api", version: 1, state: "idle", calls: 0, errors: 0 })
  await called("fails")
  assert.include(await listed("fails"), { state: "running", calls: 1, errors: 1 })
  await deploy("ends", `Deno.serve(() => { Deno.exit(3) })`)
  await called("ends")
  const ended = await listed("ends")
  assert.include(ended, { state: "failing", errors: 1 })
  assert.isNotNull(ended?.["problem"])
  await called("hello", { name: "Ann" })
  assert.include(await listed("hello"), { source: "folder", version: 0, state: "running", digest: null })
  assert.isUndefined(await listed("_shared"))
})

it("counts calls, processes and memory by function", async () => {
  await called("hello", { name: "Ann" })
  const { text } = await ask({ url: operationsUrl(service) ?? "" }, "GET /metrics")
  assert.match(text, /svc_function_calls_total\{[^}]*function="hello"[^}]*outcome="succeeded"[^}]*\} [1-9]/)
  assert.match(text, /svc_function_processes\{[^}]*function="hello"[^}]*\} 1\n/)
  assert.notInclude(text, 'function="nothing"')
})

it("is what a schedule runs, and its answer is in the history", async () => {
  const key = service.service_role
  const make = async (name: string, body?: object) => {
    const target = { type: "function", name, ...(body === undefined ? {} : { body }) }
    const made = await ask(service, "POST /api/schedules", {
      key,
      body: { name: `calls ${name}`, cron: "0 0 1 1 *", target }
    })
    assert.strictEqual(made.status, 201, made.text)
    const { id } = made.json as { readonly id: number }
    assert.strictEqual((await ask(service, `POST /api/schedules/${id}/run`, { key })).status, 202)
    const { json } = await until(
      () => ask(service, `GET /api/schedules/${id}/runs`, { key }),
      ({ json }) => (json as Array<{ readonly finished_at: unknown }>)[0]?.finished_at !== null
    )
    return (json as Array<{ readonly status: string; readonly result: string; readonly error: string }>)[0]
  }
  assert.deepInclude(await make("hello", { name: "Ann" }), {
    status: "succeeded",
    result: '200 {"message":"Hello Ann!"}'
  })
  assert.include((await make("who"))?.result, '"role":"service_role"')
  const missing = await make("nowhere")
  assert.deepInclude(missing, { status: "failed", error: "Function nowhere does not exist (FUNCTION_NOT_FOUND)" })
})

it("receives webhooks by its name, signed and logged as by any receiver", async () => {
  const key = service.service_role
  await sql(service, "create table paid_orders (id int primary key)")
  const hook = (url: string) =>
    ask(service, "POST /api/webhooks", { key, body: { table_name: "paid_orders", events: ["INSERT"], url } })
  assertRefused(await hook("function://a/b"), 400)
  assertRefused(await hook("function:who"), 400)
  const made = [await hook("function://who"), await hook("function://nowhere")]
  const [who, nowhere] = made.map(({ json }) => (json as { readonly id: number }).id)
  await sql(service, "insert into paid_orders values (1)")
  const first = async (id: number | undefined) => {
    const { json } = await until(
      () => ask(service, `GET /api/webhooks/${id}/logs`, { key }),
      ({ text }) => text.includes("attempt")
    )
    return JSON.stringify(json)
  }
  const answered = await first(who)
  assert.include(answered, String.raw`\"role\":\"service_role\"`)
  assert.include(await first(nowhere), "Function nowhere does not exist")
})

it("is called in the version that another replica has deployed, and a replica without Deno says so", async () => {
  const s3 = await startS3()
  const shared = {
    S3_ENDPOINT: s3.endpoint,
    S3_ACCESS_KEY: s3.credentials.accessKeyId,
    S3_SECRET_KEY: s3.credentials.secretAccessKey,
    SVC_ENCRYPTION_KEY: randomBytes(32).toString("hex")
  }
  await using one = await serveInProcess(shared)
  await using other = await serveInProcess({ ...shared, SVC_JWT_SECRET: one.jwtSecret }, () => one.databaseUrl)
  await using bare = await serveInProcess({ ...shared, SVC_FUNCTIONS_DENO: "/nonexistent" }, () => one.databaseUrl)
  const key = one.service_role
  const put = (code: string) =>
    ask(one, "PUT /api/functions/shared", {
      key,
      body: { files: { "index.ts": `Deno.serve(() => new Response("${code}"))` } }
    })
  const at = (replica: InProcessService) => ask(replica, "POST /v1/functions/shared", { key })
  for (const code of ["v1", "v2", "v3"]) {
    const reply = await put(code)
    assert.strictEqual(reply.status, 201, reply.text)
    const answers = await Promise.all(
      [one, other].map((replica) =>
        until(
          () => at(replica),
          ({ text }) => text === code
        )
      )
    )
    assert.deepStrictEqual(
      answers.map(({ text }) => text),
      [code, code]
    )
  }
  assertRefused(await at(bare), 501, "FUNCTIONS_NOT_INSTALLED")
  assertRefused(
    await ask(bare, "PUT /api/functions/new", { key, body: { files: { "index.ts": "1" } } }),
    501,
    "FUNCTIONS_NOT_INSTALLED"
  )
  // A message is left for those that have it.
  await ask(bare, "POST /api/queues", { key, body: { name: "shared", consumer: { function: "shared" } } })
  await ask(bare, "POST /v1/queues/shared/send", { key, body: { message: 1 } })
  const emptied = await until(
    () => ask(bare, "GET /api/queues/shared", { key }),
    ({ json }) => (json as { depth: number }).depth === 0
  )
  assert.deepInclude(emptied.json, { depth: 0, dead: 0 })
  await s3.stop()
}, 60_000)
