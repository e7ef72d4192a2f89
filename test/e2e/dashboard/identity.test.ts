import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused } from "../../support/client.ts"
import { as, cookieHeader, type IdentityService, startIdentityService } from "../../support/identity/service.ts"
import { cookieOf, makePerson } from "../../support/identity/idp.ts"

let parts: IdentityService
beforeAll(async () => {
  parts = await startIdentityService()
})
afterAll(() => parts[Symbol.asyncDispose]())

const signIn = async (metadata_public: Readonly<Record<string, string>> = {}) =>
  cookieOf(parts.idp, await makePerson(parts.idp, { metadata_public }))
const admin = () => signIn({ svc_role: "admin" })
const page = { "x-svc-dashboard": "1", "sec-fetch-site": "same-origin" }

describe("an administrator's session of the identity provider", () => {
  it("opens /v1 for pages of the service, and only for them", async () => {
    const who = await admin()
    const run = { body: { sql: "select 1 as n" }, headers: page }
    const reply = await as(parts.service, who, "POST /v1/sql", run)
    assert.deepInclude(reply.json, { rows: [{ n: 1 }] }, reply.text)
    assert.strictEqual(reply.headers.get("x-ratelimit-limit"), "-1")
    assertRefused(await as(parts.service, who, "POST /v1/sql", { body: run.body }), 401, "INVALID_API_KEY")
    const elsewhere = { ...page, "sec-fetch-site": "same-site" }
    assertRefused(await as(parts.service, who, "POST /v1/sql", { ...run, headers: elsewhere }), 403, "CSRF")
  })

  it("is shown as an identity", async () => {
    const reply = await as(parts.service, await admin(), "GET /api/dashboard/session")
    assert.strictEqual(reply.status, 200, reply.text)
    assert.deepInclude((reply.json as { author: object }).author, { type: "identity" })
  })

  it("goes on where the dashboard's own session has ended", async () => {
    const who = await admin()
    const cookie = `svc_dashboard=${"a".repeat(43)}; ${cookieHeader(who)}`
    assert.strictEqual((await ask(parts.service, "GET /api/keys", { headers: { cookie } })).status, 200)
    assert.strictEqual((await ask(parts.service, "GET /v1/status", { headers: { ...page, cookie } })).status, 200)
  })
})

it("any other user's session opens neither", async () => {
  const who = await signIn()
  assertRefused(await as(parts.service, who, "GET /v1/status", { headers: page }), 403, "FORBIDDEN")
  assertRefused(await as(parts.service, who, "GET /api/dashboard/session"), 403, "FORBIDDEN")
})

it("the sign-in page learns where to sign in, with a return to the dashboard", async () => {
  const { json } = await ask(parts.service, "GET /api/dashboard/config")
  const { features, sign_in } = json as { sign_in: { idp_login_url: string }; features: object }
  const url = new URL(sign_in.idp_login_url)
  assert.strictEqual(url.origin, new URL(parts.idp.publicUrl).origin)
  assert.strictEqual(url.searchParams.get("return_to"), `${parts.service.url}/dashboard/`)
  assert.deepInclude(features, { identity: true, oauth2: true })
})
