import { assert, describe, inject, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { startService } from "../../support/service.ts"

const service = inject("service")
const html = { accept: "text/html,application/xhtml+xml" }
const get = (path: string, headers: Record<string, string> = {}) => ask(service, `GET ${path}`, { headers })
const fetchRaw = (path: string, headers: Record<string, string> = {}) =>
  fetch(service.url + path, { headers, redirect: "manual" })

describe("the page", () => {
  it("is not stored, and runs nothing of other origins", async () => {
    const { headers, status, text } = await get("/dashboard/tables/public/orders?id=eq.1")
    assert.strictEqual(status, 200)
    assert.strictEqual(headers.get("cache-control"), "no-store")
    assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
    assert.strictEqual(headers.get("x-frame-options"), "DENY")
    assert.strictEqual(headers.get("referrer-policy"), "same-origin")
    assert.strictEqual(headers.get("cross-origin-opener-policy"), "same-origin")
    const policy = headers.get("content-security-policy") ?? ""
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'"
    ]) {
      assert.include(policy, rule)
    }
    assert.notInclude(policy.replace("style-src-attr 'unsafe-inline'", ""), "unsafe")
    const nonce = /'nonce-([\w-]{24})'/.exec(policy)?.[1]
    assert.include(text, `content="${nonce}"`)
    assert.notInclude(text, "__NONCE__")
    assert.notInclude((await get("/dashboard/")).text, nonce ?? "-", "a nonce is used once")
  })

  it("contains no inline script and no address of another origin", async () => {
    const { text } = await get("/dashboard/")
    assert.notMatch(text, /<script(?![^>]*\bsrc=)[^>]*>|\son\w+=|javascript:|https?:\/\//)
  })
})

describe("assets", () => {
  const assets = async () =>
    Array.from((await get("/dashboard/")).text.matchAll(/\/dashboard\/assets\/[\w.-]+/g), ([path]) => path)

  it("are compressed and never asked for again", async () => {
    const script = (await assets()).find((path) => path.endsWith(".js")) ?? ""
    const sizes = await Promise.all(
      ["br, gzip", "gzip", "br;q=0, gzip;q=0", ""].map(async (accepted) => {
        const { headers } = await fetchRaw(script, { "accept-encoding": accepted })
        assert.strictEqual(headers.get("cache-control"), "public, max-age=31536000, immutable")
        assert.include(headers.get("vary") ?? "", "Accept-Encoding")
        assert.match(headers.get("content-type") ?? "", /^text\/javascript/)
        return [headers.get("content-encoding"), Number(headers.get("content-length"))] as const
      })
    )
    assert.deepStrictEqual(
      sizes.map(([encoding]) => encoding),
      ["br", "gzip", null, null]
    )
    const [br, gzip, plain] = sizes.map(([, size]) => size)
    assert.isTrue((br ?? 0) > 1000 && (br ?? 0) < (gzip ?? 0) && (gzip ?? 0) < (plain ?? 0), String(sizes))
  })

  it("include the licences of what the dashboard is made of", async () => {
    const { headers, text } = await get("/dashboard/licenses.txt")
    assert.strictEqual(headers.get("content-type"), "text/plain; charset=utf-8")
    for (const part of ["react-dom", "@codemirror/view", "@tanstack/react-router", "Geist", "Lucide"]) {
      assert.match(text, new RegExp(`^${part}.* \\((?:MIT|ISC|OFL-1.1)\\)$`, "m"))
    }
    assert.include(text, "SIL OPEN FONT LICENSE Version 1.1")
  })

  it("that are gone are 404, never a page", async () => {
    for (const path of [
      "/dashboard/assets/index-gone.js",
      "/dashboard/assets/../../package.json",
      "/dashboard/assets/"
    ]) {
      const reply = await get(path, html)
      if (path.includes("..")) assert.notInclude(reply.text, "devDependencies")
      else assertRefused(reply, 404, "NOT_FOUND")
    }
    for (const path of [
      "/dashboard/..%2f..%2fpackage.json",
      "/dashboard/%2e%2e/package.json",
      "/dashboard/index.html.br"
    ]) {
      assert.notInclude((await get(path)).text, "devDependencies", path)
    }
  })
})

describe("addresses", () => {
  it("/ leads browsers to the dashboard, and others to the start page", async () => {
    const page = await fetchRaw("/", html)
    assert.strictEqual(page.status, 302)
    assert.strictEqual(page.headers.get("location"), "/dashboard/")
    assert.include((await get("/", { accept: "*/*" })).text, "The service is running")
  })

  it("have one spelling, and only GET and HEAD", async () => {
    const { headers, status } = await fetchRaw("/dashboard")
    assert.deepStrictEqual([status, headers.get("location")], [308, "/dashboard/"])
    assertRefused(await ask(service, "POST /dashboard/", { body: {} }), 405)
    assert.strictEqual((await ask(service, "HEAD /dashboard/")).status, 200)
    assert.strictEqual((await ask(service, "HEAD /dashboard/")).text, "")
  })

  it("of consent lead to the service's own page, and nowhere else", async () => {
    const { headers } = await fetchRaw("/dashboard/oauth2/consent?consent_challenge=a%26b")
    assert.strictEqual(headers.get("location"), "/oauth2/consent?consent_challenge=a%26b")
    for (const path of [
      "/dashboard//evil.example",
      "/dashboard/%2f%2fevil.example",
      "/dashboard/oauth2/consent//evil.example"
    ]) {
      assert.isNull((await fetchRaw(path)).headers.get("location"), path)
    }
  })
})

it("SVC_DASHBOARD=false turns it off, with its sessions", async () => {
  await using off = await startService({ env: { SVC_DASHBOARD: "false" } })
  for (const path of ["/dashboard/", "/dashboard/assets/index.js"]) {
    assertRefused(await ask(off, `GET ${path}`, { headers: html }), 404, "DASHBOARD_DISABLED")
  }
  assert.include((await ask(off, "GET /", { headers: html })).text, "The service is running")
  const body = { key: off.service_role }
  assertRefused(await ask(off, "POST /api/dashboard/session", { body }), 404, "DASHBOARD_DISABLED")
  assert.notInclude(off.output(), "Dashboard:")
})

it("a page that a stored function answers is sandboxed: it is not of this origin", async () => {
  await sql(service, `create domain e2e_html as text`)
  await sql(
    service,
    `create function e2e_page() returns e2e_html language plpgsql stable as $$
     begin
       perform set_config('response.headers', '[{"Content-Type": "text/html"}]', true);
       return '<script>alert(1)</script>';
     end $$`
  )
  const reply = await ask(service, "GET /v1/db/rpc/e2e_page", { key: service.anon })
  assert.include(reply.headers.get("content-type") ?? "", "text/html")
  assert.strictEqual(reply.headers.get("content-security-policy"), "sandbox; default-src 'none'")
  assert.strictEqual(reply.headers.get("x-content-type-options"), "nosniff")
})
