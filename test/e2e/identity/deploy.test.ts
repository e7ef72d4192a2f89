import { Redacted } from "effect"
import { once } from "node:events"
import { connect } from "node:net"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { ask, sql } from "../../support/client.ts"
import { freshEmail, signUp } from "../../support/identity/idp.ts"
import { hostOf, makeApplication, makeVisitor, signIn } from "../../support/identity/signIn.ts"
import { otherOAuth2Server } from "../../support/oauth2/oauth2.ts"
import { until } from "../../support/service.ts"
import { type FullStage, startStage } from "../../support/oauth2/signInSetup.ts"

/** What the files of deploy promise of the two servers, and what no fake can show. */
describe.skipIf(otherOAuth2Server === undefined)("real servers, configured as in deploy", () => {
  let stage: FullStage
  beforeAll(async () => {
    stage = await startStage({ env: { SVC_JWT_SCOPE: "data" } })
  })
  afterAll(() => stage[Symbol.asyncDispose]())

  it("sign a new user in, and send a verification e-mail whose link verifies the address", async () => {
    const email = freshEmail()
    const credential = await signUp(stage.idp, email)
    const browser = startBrowsing()
    browser.setCookie(hostOf(stage.idp), "idp_session", Redacted.value(credential.value))
    const verified = async () => {
      const { text } = await browser.once(`${stage.service.url}/api/auth/session`)
      return (JSON.parse(text) as { identity: { addresses: unknown } }).identity.addresses
    }
    assert.deepStrictEqual(await verified(), [{ value: email, verified: false }])
    const sent = async () => {
      const query = `recipient=${encodeURIComponent(email)}&status=sent`
      const response = await fetch(`${stage.idp.adminUrl}/admin/courier/messages?${query}`)
      return ((await response.json()) as ReadonlyArray<{ readonly body: string }>)[0]?.body ?? ""
    }
    const message = await until(sent, (body) => body !== "")
    const link = /http\S+\/self-service\/verification\?\S+/.exec(message)?.[0] ?? ""
    const { status } = await browser.once(link)
    assert.strictEqual(status, 303)
    // The service caches a session for five seconds.
    const addresses = await until(verified, (addresses) => JSON.stringify(addresses).includes(":true"))
    assert.deepStrictEqual(addresses, [{ value: email, verified: true }])
  })

  it("let a single-page app redeem a code, ask who the user is, and use the user's rows", async () => {
    const origin = "https://app.example.com"
    const application = await makeApplication(stage, {
      token_endpoint_auth_method: "none",
      scope: "openid email data",
      grant_types: ["authorization_code"],
      allowed_cors_origins: [origin]
    })
    const visitor = await makeVisitor(stage)
    const scope = ["openid", "email", "data"]
    const tokens = await signIn(stage, visitor, application, { scope, parameters: { scope: scope.join(" ") } })

    const allowedOrigin = async (path: string, init: RequestInit) => {
      const response = await fetch(stage.publicUrl + path, init)
      await response.body?.cancel()
      return `${response.status} ${response.headers.get("access-control-allow-origin")}`
    }
    const preflight = { "access-control-request-method": "GET", "access-control-request-headers": "authorization" }
    const authorization = `Bearer ${tokens.access_token}`
    const asked = await allowedOrigin("/userinfo", { method: "OPTIONS", headers: { origin, ...preflight } })
    assert.strictEqual(asked, `200 ${origin}`)
    assert.strictEqual(await allowedOrigin("/userinfo", { headers: { origin, authorization } }), `200 ${origin}`)
    const foreign = { origin: "https://other.example.com", authorization }
    assert.strictEqual(await allowedOrigin("/userinfo", { headers: foreign }), "200 null")
    // These requests name no client, so only the origins of the configuration may make them.
    for (const path of ["/.well-known/openid-configuration", "/.well-known/jwks.json"]) {
      assert.strictEqual(await allowedOrigin(path, { headers: { origin } }), "200 null")
      const listed = "http://localhost:5173"
      assert.strictEqual(await allowedOrigin(path, { headers: { origin: listed } }), `200 ${listed}`)
    }

    await sql(stage.service, "create table mine (owner uuid not null default auth.uid())")
    await sql(stage.service, "alter table mine enable row level security")
    await sql(stage.service, "create policy own on mine using (owner = auth.uid()) with check (owner = auth.uid())")
    const key = stage.service.anon
    const written = await ask(stage.service, "POST /v1/db/mine", { key, token: tokens.access_token, body: {} })
    assert.strictEqual(written.status, 201, written.text)
    assert.deepStrictEqual(written.json, [{ owner: visitor.person.id }])
    const idToken = await ask(stage.service, "GET /v1/db/mine", { key, token: tokens.id_token ?? "" })
    assert.strictEqual((idToken.json as { code: string }).code, "JWT_NOT_ACCESS_TOKEN")
  })

  it("listen with their admin ports on 127.0.0.1 only", async () => {
    // All of 127.0.0.0/8 reaches what listens on all interfaces.
    const reached = async (url: string) => {
      const socket = connect(Number(new URL(url).port), "127.0.0.2")
      try {
        await once(socket, "connect")
        return true
      } catch {
        return false
      } finally {
        socket.destroy()
      }
    }
    for (const url of [stage.idp.adminUrl, otherOAuth2Server!.adminUrl]) assert.isFalse(await reached(url), url)
  })
})
