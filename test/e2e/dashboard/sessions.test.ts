import { version } from "../../../src/domain/Version.ts"
import { assert, describe, inject, it } from "vitest"
import { WebSocket } from "ws"
import { isWithout } from "../../support/skips.ts"
import { ask, assertRefused, type Reply, type Request, sql } from "../../support/client.ts"
import { serveInProcess } from "../../support/inProcess.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { otherStore } from "../../support/storage/external.ts"
import { onTerminal, startService, until } from "../../support/service.ts"

const service = inject("service")
const { origin } = new URL(service.url)
/** The windows of failed attempts are by address, which these tests choose. */
const from = (address: string) => ({ "x-forwarded-for": address })

const newKey = async (keyType = "service_role", more: object = {}) => {
  const body = { keyType, label: "dashboard test", ...more }
  const { json } = await ask(service, "POST /api/keys", { key: service.service_role, body })
  return json as { readonly key: { readonly id: number }; readonly secret: string }
}
const revoke = ({ key }: { readonly key: { readonly id: number } }) =>
  ask(service, `DELETE /api/keys/${key.id}`, { key: service.service_role })

const open = (body: unknown, headers: Record<string, string> = {}) =>
  ask(service, "POST /api/dashboard/session", { body, headers: { origin, ...headers } })
/** The cookie that a response sets, as a browser sends it. */
const cookieOf = ({ headers }: Reply) => headers.getSetCookie()[0]?.split(";")[0] ?? ""
const signIn = async (key = service.service_role) => {
  const reply = await open({ key })
  assert.strictEqual(reply.status, 201, reply.text)
  return cookieOf(reply)
}
const by = (cookie: string, line: string, { headers, ...request }: Request = {}) =>
  ask(service, line, { ...request, headers: { cookie, ...headers } })
/** As a page of the dashboard sends it. */
const page = { "x-svc-dashboard": "1", "sec-fetch-site": "same-origin", origin }

describe("signing in", () => {
  it("sets a cookie that no script can read and no other site can send", async () => {
    const reply = await open({ key: service.service_role })
    const [cookie = ""] = reply.headers.getSetCookie()
    assert.match(cookie, /^svc_dashboard=[\w-]{43}; /)
    for (const attribute of ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=604800"])
      assert.include(cookie, attribute)
    assert.notInclude(cookie, "Secure")
    assert.strictEqual(reply.headers.get("cache-control"), "no-store")
    assert.notInclude(reply.text, cookieOf(reply).split("=")[1] ?? "-")
    const { author, expires_at } = reply.json as { author: { type: string }; expires_at: string }
    assert.strictEqual(author.type, "key")
    assert.approximately(Date.parse(expires_at) - Date.now(), 12 * 3_600_000, 60_000)
  })

  it("has another name over https, that browsers accept from this host only", async () => {
    const https = { "x-forwarded-proto": "https", origin: origin.replace("http:", "https:") }
    const reply = await open({ key: service.service_role }, https)
    const [cookie = ""] = reply.headers.getSetCookie()
    assert.match(cookie, /^__Host-svc_dashboard=/)
    assert.include(cookie, "Secure")
    assert.strictEqual((await by(cookieOf(reply), "GET /api/keys", { headers: https })).status, 200)
    // Planted by a neighbour of the host's domain.
    const planted = cookieOf(reply).replace("__Host-", "")
    assertRefused(await by(planted, "GET /api/keys", { headers: https }), 401)
  })

  it("refuses other keys, anon keys and other bodies", async () => {
    const address = from("198.51.100.1")
    assertRefused(await open({ key: `svc_sk_${"x".repeat(43)}` }, address), 401, "INVALID_API_KEY")
    assertRefused(await open({ key: service.anon }, address), 403, "FORBIDDEN")
    assertRefused(await open({ link: "x".repeat(43) }, address), 410, "LINK_EXPIRED")
    for (const body of [{}, { key: "" }, { key: 1 }, { key: service.service_role, admin: true }, []]) {
      assertRefused(await open(body, address), 400)
    }
  })

  it("is refused from another site, which could sign a user in to a session of its own", async () => {
    assertRefused(await open({ key: service.service_role }, { origin: "https://evil.example" }), 403, "CSRF")
    assertRefused(await open({ key: service.service_role }, { origin: "null" }), 403, "CSRF")
    const form = { "content-type": "text/plain" }
    assert.notStrictEqual((await open({ key: service.service_role }, form)).status, 201)
  })

  it("never adopts a token that the browser came with, and ends the session before", async () => {
    const planted = `svc_dashboard=${"a".repeat(43)}`
    const first = cookieOf(await open({ key: service.service_role }, { cookie: planted }))
    assert.notStrictEqual(first, planted)
    assertRefused(await by(planted, "GET /api/keys"), 401)
    const second = cookieOf(await open({ key: service.service_role }, { cookie: first }))
    assert.notStrictEqual(second, first)
    assertRefused(await by(first, "GET /api/keys"), 401, "UNAUTHENTICATED")
    assert.strictEqual((await by(second, "GET /api/keys")).status, 200)
  })

  it("takes ten wrong keys a minute from an address, and is not blocked for others", async () => {
    const address = from("198.51.100.2")
    for (let attempt = 0; attempt < 10; attempt++) {
      assertRefused(await open({ key: `svc_sk_${String(attempt).repeat(43)}` }, address), 401)
    }
    const reply = await open({ key: service.service_role }, address)
    assertRefused(reply, 429, "TOO_MANY_GUESSES")
    assert.isAbove(Number(reply.headers.get("retry-after")), 0)
    assert.strictEqual((await open({ key: service.service_role }, from("198.51.100.3"))).status, 201)
  })
})

describe("the cookie", () => {
  it("opens the management API, as its key in histories", async () => {
    const made = await newKey()
    const cookie = await signIn(made.secret)
    const who = await by(cookie, "GET /api/dashboard/session")
    assert.deepInclude(who.json, { author: { type: "key", id: made.key.id, label: "dashboard test" } })
    const write = { body: { keyType: "anon" }, headers: { origin } }
    assert.strictEqual((await by(cookie, "POST /api/keys", write)).status, 201)
  })

  it("writes only from pages of the service, as JSON", async () => {
    const cookie = await signIn()
    const body = { keyType: "anon" }
    for (const headers of [
      {},
      { origin: "https://evil.example" },
      { origin: "null" },
      { referer: "https://evil.example/" }
    ]) {
      assertRefused(await by(cookie, "POST /api/keys", { body, headers }), 403, "CSRF")
      assertRefused(await by(cookie, "DELETE /api/dashboard/session", { headers }), 403, "CSRF")
    }
    const form = { origin, "content-type": "text/plain" }
    assertRefused(await by(cookie, "POST /api/keys", { body: JSON.stringify(body), headers: form }), 403, "CSRF")
  })

  it("counts on /v1 only with the header and the page of this very origin, reads included", async () => {
    const cookie = await signIn()
    for (const headers of [
      {},
      { "x-svc-dashboard": "1" },
      { "x-svc-dashboard": "2", "sec-fetch-site": "same-origin" },
      { ...page, "sec-fetch-site": "cross-site" },
      { ...page, "sec-fetch-site": "same-site" },
      { ...page, "sec-fetch-site": "none" },
      { ...page, origin: "https://evil.example" },
      // The DASHBOARD_URL of another origin calls /v1 with a key.
      { "x-svc-dashboard": "1", origin: "https://dashboard.example.com" }
    ]) {
      const reply = await by(cookie, "GET /v1/status", { headers: headers as Record<string, string> })
      assert.include([401, 403], reply.status, JSON.stringify(headers))
    }
    const reply = await by(cookie, "GET /v1/status", { headers: page })
    assert.deepStrictEqual([reply.status, reply.headers.get("cache-control")], [200, "no-store"])
    // Without Sec-Fetch-Site, which browsers do not send to http of other machines.
    const plain = { "x-svc-dashboard": "1", referer: `${origin}/dashboard/` }
    assert.strictEqual((await by(cookie, "GET /v1/status", { headers: plain })).status, 200)
    const run = { body: { sql: "select current_user as who" }, headers: page }
    assert.strictEqual((await by(cookie, "POST /v1/sql", run)).status, 200)
    const csv = { body: "a\n1", headers: { ...page, "content-type": "text/csv" } }
    assertRefused(await by(cookie, "POST /v1/db/e2e_no_such_table", csv), 404)
  })

  it("reads rows as another caller would, and only reads", async () => {
    const table = `viewed_${process.pid}`
    for (const text of [
      `create table ${table} (id int primary key, owner text)`,
      `alter table ${table} enable row level security`,
      `create policy own on ${table} for select to authenticated
       using (owner = (select auth.sub()) or (select auth.jwt() ->> 'team') = owner)`,
      `insert into ${table} values (1, 'ann'), (2, 'bo'), (3, 'größe')`
    ])
      await sql(service, text)
    const cookie = await signIn()
    const as = (viewer: unknown, line = `GET /v1/db/${table}?select=id`, more: Request = {}) =>
      by(cookie, line, { ...more, headers: { ...page, "x-svc-view-as": encodeURIComponent(JSON.stringify(viewer)) } })
    const ids = async (viewer: unknown) => {
      const { json, status, text } = await as(viewer)
      assert.strictEqual(status, 200, text)
      return (json as ReadonlyArray<{ id: number }>).map(({ id }) => id)
    }
    assert.deepStrictEqual(await ids({ role: "authenticated", sub: "ann" }), [1])
    assert.deepStrictEqual(await ids({ role: "authenticated", sub: "x", claims: { team: "größe", sub: "bo" } }), [3])
    assert.deepStrictEqual(await ids({ role: "anon", sub: "ann", claims: { team: "bo" } }), [])
    assert.lengthOf((await by(cookie, `GET /v1/db/${table}`, { headers: page })).json as Array<unknown>, 3)
    const ann = { role: "authenticated", sub: "ann" }
    assertRefused(await as(ann, `DELETE /v1/db/${table}?id=eq.1`), 403, "FORBIDDEN")
    assertRefused(await as(ann, "POST /v1/sql", { body: { sql: "select 1" } }), 403, "FORBIDDEN")
    assertRefused(await as(ann, "GET /v1/database/schema"), 403, "FORBIDDEN")
    for (const viewer of [
      {},
      { role: "service_role" },
      { role: "postgres" },
      { role: "anon", claims: 1 },
      "anon",
      null
    ])
      assertRefused(await as(viewer), 400, "INVALID_REQUEST")
    const broken = { ...page, "x-svc-view-as": "%" }
    assertRefused(await by(cookie, `GET /v1/db/${table}`, { headers: broken }), 400, "INVALID_REQUEST")
    // It is no way for a key to become another.
    const { text } = await ask(service, `GET /v1/db/${table}`, {
      key: service.anon,
      headers: { "x-svc-view-as": encodeURIComponent(JSON.stringify(ann)) }
    })
    assert.strictEqual(text, "[]")
  })

  it("does not replace a key that is sent with it", async () => {
    const cookie = await signIn()
    const reply = await by(cookie, "POST /v1/sql", { key: service.anon, body: { sql: "select 1" }, headers: page })
    assertRefused(reply, 403)
    assertRefused(await by(cookie, "GET /api/keys", { key: "svc_sk_wrong" }), 401)
  })

  it("has the rate limit of its key", async () => {
    const made = await newKey("service_role", { rate_limit: 2 })
    const cookie = await signIn(made.secret)
    const statuses: Array<number> = []
    for (let at = 0; at < 3; at++) statuses.push((await by(cookie, "GET /v1/status", { headers: page })).status)
    assert.deepStrictEqual(statuses, [200, 200, 429])
  })

  it("ends at once with the revocation of its key", async () => {
    const made = await newKey()
    const cookie = await signIn(made.secret)
    assert.strictEqual((await by(cookie, "GET /api/keys")).status, 200)
    await revoke(made)
    assertRefused(await by(cookie, "GET /api/keys"), 401, "UNAUTHENTICATED")
    assertRefused(await by(cookie, "GET /v1/status", { headers: page }), 401, "UNAUTHENTICATED")
    assertRefused(await open({ key: made.secret }, from("198.51.100.4")), 401)
  })

  it("ends with signing out, in the service and in the browser", async () => {
    const cookie = await signIn()
    const reply = await by(cookie, "DELETE /api/dashboard/session", { headers: { origin } })
    assert.deepStrictEqual(reply.json, { success: true })
    assert.match(reply.headers.getSetCookie()[0] ?? "", /^svc_dashboard=; .*Max-Age=0/)
    assertRefused(await by(cookie, "GET /api/keys"), 401)
    assert.strictEqual((await by(cookie, "DELETE /api/dashboard/session", { headers: { origin } })).status, 200)
  })

  it("is hidden from functions in the database", async () => {
    await sql(
      service,
      `create or replace function e2e_dashboard_cookies() returns text language sql stable
       as $$ select current_setting('request.cookies', true) || current_setting('request.headers', true) $$`
    )
    const cookie = await signIn()
    const reply = await by(`${cookie}; theme=dark`, "GET /v1/db/rpc/e2e_dashboard_cookies", { headers: page })
    assert.strictEqual(reply.status, 200, reply.text)
    assert.notInclude(reply.text, cookie.split("=")[1] ?? "-")
  })

  it("opens /realtime for pages of this origin, until its key is revoked", async () => {
    const made = await newKey()
    const cookie = await signIn(made.secret)
    const url = `${service.url.replace("http", "ws")}/realtime`
    const connect = (headers: Record<string, string>) =>
      new Promise<WebSocket | number>((done) => {
        const socket = new WebSocket(url, { headers })
        socket.once("open", () => done(socket))
        socket.once("unexpected-response", (_, { statusCode = 0 }) => done(statusCode))
      })
    assert.strictEqual(await connect({ cookie, origin: "https://evil.example" }), 403)
    assert.strictEqual(await connect({ cookie: `svc_dashboard=${"a".repeat(43)}`, origin }), 401)
    const socket = await connect({ cookie, origin })
    if (typeof socket === "number") return assert.fail(`refused with ${socket}`)
    const closed = new Promise<number>((done) => socket.once("close", done))
    await revoke(made)
    assert.strictEqual(await closed, 1008)
  })
})

describe("what is stored", () => {
  it("is a hash, and ends after 12 hours without use or 7 days", async () => {
    await using other = await serveInProcess()
    const { Client } = await import("pg")
    const client = new Client({ connectionString: other.databaseUrl })
    await client.connect()
    try {
      const reply = await ask(other, "POST /api/dashboard/session", { body: { key: other.service_role } })
      const cookie = cookieOf(reply)
      const { rows } = await client.query("select * from svc.dashboard_sessions")
      assert.strictEqual(rows.length, 1)
      assert.notInclude(JSON.stringify(rows), cookie.split("=")[1] ?? "-")
      const status = async () => (await ask(other, "GET /api/keys", { headers: { cookie } })).status
      const age = (text: string) => client.query(`update svc.dashboard_sessions set ${text}`)
      assert.strictEqual(await status(), 200)
      await age("last_seen_at = now() - interval '11 hours 59 minutes'")
      assert.strictEqual(await status(), 200, "seen again")
      assert.strictEqual(await status(), 200)
      await age("last_seen_at = now() - interval '12 hours 1 second'")
      assert.strictEqual(await status(), 401)
      await age("last_seen_at = now(), expires_at = now() - interval '1 second'")
      assert.strictEqual(await status(), 401)
      await ask(other, "POST /api/dashboard/session", { body: { key: other.service_role } })
      const left = await client.query("select count(*)::int as n from svc.dashboard_sessions")
      assert.deepStrictEqual(left.rows, [{ n: 1 }], "those that have ended are deleted")
    } finally {
      await client.end()
    }
  })
})

describe("the sign-in link of the start", () => {
  const linkIn = (output: string) => /\/dashboard\/#sign-in=([\w-]{43})/.exec(output)?.[1]

  it("signs in one browser, once, with the embedded database on this machine", async () => {
    await using own = await startService({ env: { ...onTerminal, SVC_ACCESS_LOG: "true" } })
    const printed = () => Promise.resolve(linkIn(own.output()))
    const link = await until(printed, (found) => found !== undefined)
    const redeem = () => ask(own, "POST /api/dashboard/session", { body: { link } })
    const [one, other] = await Promise.all([redeem(), redeem()])
    assert.deepStrictEqual([one.status, other.status].toSorted(), [201, 410])
    // The access log is for people then.
    const logged = async () =>
      own.output().match(/\[[\d:.]+\] \S+410\S+ POST \/api\/dashboard\/session LINK_EXPIRED [\d.]+ ms/g)
    assert.lengthOf((await until(logged, (found) => found !== null)) ?? [], 1)
    assertRefused(await redeem(), 410, "LINK_EXPIRED")
    const cookie = cookieOf(one.status === 201 ? one : other)
    assert.strictEqual((await ask(own, "GET /api/keys", { headers: { cookie } })).status, 200)

    // Where things are, in the colours of a terminal.
    assert.match(own.output(), /svc \d+\.\d+\.\d+ is ready/)
    for (const row of [/API +\S*http:/, /Files \(S3\) +\S*http:/, new RegExp(`Data +\\S*${own.dataDir}`)]) {
      assert.match(own.output(), row)
    }

    // Beside it, one that makes the first administrator.
    const page = /First administrator +\S*http:\/\/localhost:\d+(\/auth\/administrator\?[\w=&%-]+)/.exec(
      own.output()
    )?.[1]
    const browser = startBrowsing()
    const open = async () => (await browser.once(own.url + page, { headers: { accept: "text/html" } })).text
    const shown = await open()
    const form = new URLSearchParams({ email: "ops@example.com", password: "four common words", action: "create" })
    for (const [, name = "", value = ""] of shown.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)) {
      form.set(name, value)
    }
    const claim = () =>
      browser.once(`${own.url}/auth/administrator`, {
        method: "POST",
        body: form,
        headers: { origin: own.url, accept: "text/html" }
      })
    const made = await claim()
    assert.include(made.text, "You are an administrator")
    const person = `idp_session=${browser.cookie("127.0.0.1", "idp_session")}`
    assert.strictEqual((await ask(own, "GET /api/keys", { headers: { cookie: person } })).status, 200)
    assert.strictEqual((await claim()).status, 410)
    assert.include(await open(), "This link is no longer valid")
  })

  it.each([
    ["PUBLIC_URL", { PUBLIC_URL: "https://api.example.com" }],
    ["NODE_ENV=production", { NODE_ENV: "production" }],
    ["SVC_DASHBOARD=false", { SVC_DASHBOARD: "false" }],
    ["HOST=0.0.0.0", { HOST: "0.0.0.0" }],
    ["an output that is no terminal", { NODE_OPTIONS: "" }]
  ])("is not printed with %s", async (_, env) => {
    await using own = await startService({ env: { ...onTerminal, ...(env as unknown as Record<string, string>) } })
    // Printed after the listener is ready, and before a stop.
    await own.stop()
    assert.isUndefined(linkIn(own.output()))
    if (!("SVC_DASHBOARD" in env)) assert.notInclude(own.output(), "First administrator")
  })

  it("is not printed for a database of yours", async () => {
    await using other = await serveInProcess()
    assert.isUndefined(linkIn(other.output()))
    assert.notInclude(other.output(), "First administrator")
    assert.match(other.output(), /Dashboard: http:\/\/127\.0\.0\.1:\d+\/dashboard\//)
  })
})

it("GET /api/dashboard/config needs no credentials and reveals no secrets", async () => {
  const { json, status } = await ask(service, "GET /api/dashboard/config")
  assert.strictEqual(status, 200)
  const config = json as {
    readonly s3_public_origin: string
    readonly s3_admits_pages: boolean
    readonly sign_in: { readonly idp_login_url: string }
  }
  assert.match(config.sign_in.idp_login_url, /^http:\/\/127\.0\.0\.1:\d+\/auth\/login\?return_to=/)
  assert.match(config.s3_public_origin, /^https?:\/\/[^/]+$/)
  assert.deepStrictEqual(config, {
    version,
    sign_in: { key: true, idp_login_url: config.sign_in.idp_login_url },
    s3_public_origin: config.s3_public_origin,
    s3_admits_pages: otherStore === undefined,
    features: { identity: true, oauth2: true, encryption: true, functions: !isWithout("deno") }
  } as unknown as typeof config)
})

it("workers share sessions, and print one address without a link", async () => {
  await using own = await startService({ env: { ...onTerminal, SVC_WORKERS: "2" } })
  const cookie = cookieOf(await ask(own, "POST /api/dashboard/session", { body: { key: own.service_role } }))
  // A connection of its own each, so that both workers answer.
  const headers = { cookie, connection: "close" }
  const replies = await Promise.all(Array.from({ length: 20 }, () => ask(own, "GET /api/keys", { headers })))
  assert.deepStrictEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
  const { output } = await own.stop()
  assert.lengthOf(output.match(/Dashboard +\S*http/g) ?? [], 1, output)
  assert.notInclude(output, "#sign-in=")
})
