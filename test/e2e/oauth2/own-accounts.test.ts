import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { startBrowsing, type Browsing } from "../../support/browser/cookieClient.ts"
import { ask, sql } from "../../support/client.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { afterLogout, callback, refused } from "../../support/identity/signIn.ts"
import { register } from "../../support/identity/people.ts"
import { onwardIn, openPage, pressed, sendForm } from "../../support/oauth2/pageForm.ts"
import { startRelyingParty } from "../../support/oauth2/relyingParty.ts"
import { type Service, startService } from "../../support/service.ts"

let service: Service
let issuer: string
beforeAll(async () => {
  const port = String(await freePort())
  issuer = `http://127.0.0.1:${port}`
  service = await startService({
    env: {
      PORT: port,
      PUBLIC_URL: issuer,
      LOG_LEVEL: "Debug",
      SVC_BRAND_NAME: "Acme",
      SVC_SCOPE_DESCRIPTIONS: '{"orders:read":"See your orders"}'
    }
  })
})
afterAll(() => service[Symbol.asyncDispose]())

const makeApp = async (fields: Readonly<Record<string, unknown>> = {}) => {
  const reply = await ask(service, "POST /api/oauth2/clients", {
    key: service.service_role,
    body: {
      client_name: "Shop",
      grant_types: ["authorization_code", "refresh_token"],
      scope: "openid offline_access email orders:read",
      audience: [issuer],
      redirect_uris: [callback],
      post_logout_redirect_uris: [afterLogout],
      ...fields
    }
  })
  assert.strictEqual(reply.status, 201, reply.text)
  const { client_id, client_secret } = reply.json as { readonly client_id: string; readonly client_secret: string }
  const registered = {
    clientId: client_id,
    secret: client_secret,
    method: "client_secret_basic",
    redirectUri: callback
  } as const
  return { ...(await startRelyingParty(issuer, registered)), id: client_id, secret: client_secret }
}

/** A person who is signed in to the service, and their browser. */
const makeMember = async () => {
  const member = await register(service)
  const browser = startBrowsing()
  browser.setCookie("127.0.0.1", "idp_session", member.cookie.slice(member.cookie.indexOf("=") + 1))
  return { ...member, browser }
}

const isApp = ({ port }: URL) => port === "5555"
/** Follows redirects to a page of the service, or to the app. */
const toPage = (browser: Browsing, url: string | URL) =>
  browser.go(url, (to) => isApp(to) || to.pathname === "/oauth2/consent" || to.pathname.startsWith("/auth/"))

const answer = async (browser: Browsing, url: URL, button: string) => {
  const page = await openPage(browser, url)
  assert.strictEqual(page.status, 200, page.text)
  const sent = await sendForm(browser, url, pressed(page, button), { origin: issuer })
  assert.strictEqual(sent.status, 200, sent.text)
  return { page, onward: onwardIn(sent) }
}

const scope = "openid offline_access email orders:read"

describe("with accounts of the service, an app", () => {
  it("signs a person in with consent, refreshes, and reads their claims", async () => {
    const { browser, email, id } = await makeMember()
    const app = await makeApp()
    const attempt = await app.begin({ scope })
    const consent = await toPage(browser, attempt.url)
    assert.strictEqual(consent.url.pathname, "/oauth2/consent")
    const { onward, page } = await answer(browser, consent.url, "allow")
    for (const text of ["Shop", "Acme", email, "See your orders", "Use another account"]) {
      assert.include(page.text, text)
    }
    const back = await browser.go(onward, isApp)
    const tokens = await app.finish(attempt, back.url)
    assert.deepInclude(tokens.claims() ?? {}, { sub: id, email, iss: issuer, aud: app.id, acr: "aal1" })
    assert.deepInclude(await app.userinfo(tokens.access_token, id), { sub: id, email })
    const renewed = await app.refresh(tokens.refresh_token ?? "")
    const secrets = {
      code: back.url.searchParams.get("code"),
      verifier: attempt.verifier,
      access: tokens.access_token,
      refresh: tokens.refresh_token,
      renewed: renewed.refresh_token,
      id: tokens.id_token,
      secret: app.secret,
      cookie: browser.cookie("127.0.0.1", "oauth2_session"),
      session: browser.cookie("127.0.0.1", "idp_session"),
      challenge: consent.url.searchParams.get("consent_challenge"),
      email
    }
    for (const [name, value] of Object.entries(secrets)) {
      assert.isAbove((value ?? "").length, 10, name)
      assert.notInclude(service.output(), value ?? "", name)
    }
    await app.revoke(renewed.refresh_token ?? "")
    assert.strictEqual(await refused(app.refresh(renewed.refresh_token ?? "")), "invalid_grant")
  })

  it("gets a token for the person's rows, if it asks for this service", async () => {
    const { browser, id } = await makeMember()
    const app = await makeApp()
    const attempt = await app.begin({ scope, resource: issuer })
    const { onward } = await answer(browser, (await toPage(browser, attempt.url)).url, "allow")
    const { access_token } = await app.finish(attempt, (await browser.go(onward, isApp)).url)
    await sql(service, "create table if not exists notes (owner uuid default auth.uid(), text text)")
    const wrote = await ask(service, "POST /v1/db/notes", {
      key: service.anon,
      token: access_token,
      body: { text: "by an app" }
    })
    assert.strictEqual(wrote.status, 201, wrote.text)
    assert.deepInclude((wrote.json as ReadonlyArray<object>)[0], { owner: id })
  })

  it("is told by prompt=none that the person's session has ended", async () => {
    const { browser, cookie } = await makeMember()
    const app = await makeApp()
    const attempt = await app.begin({ scope })
    const { onward } = await answer(browser, (await toPage(browser, attempt.url)).url, "allow")
    await app.finish(attempt, (await browser.go(onward, isApp)).url)
    const out = await ask(service, "POST /api/auth/logout", { headers: { cookie, origin: issuer } })
    assert.strictEqual(out.status, 200, out.text)
    const silent = await app.begin({ scope, prompt: "none" })
    const { url } = await browser.go(silent.url, isApp)
    assert.deepStrictEqual([url.searchParams.get("error"), url.searchParams.get("code")], ["login_required", null])
  })

  it("gets no new tokens for a person who was disabled", async () => {
    const { browser, id } = await makeMember()
    const app = await makeApp()
    const attempt = await app.begin({ scope })
    const { onward } = await answer(browser, (await toPage(browser, attempt.url)).url, "allow")
    const tokens = await app.finish(attempt, (await browser.go(onward, isApp)).url)
    const changed = await ask(service, `PATCH /api/identities/${id}`, {
      key: service.service_role,
      body: { state: "inactive" }
    })
    assert.strictEqual(changed.status, 200, changed.text)
    assert.strictEqual(await refused(app.refresh(tokens.refresh_token ?? "")), "invalid_grant")
    assert.strictEqual(await refused(app.userinfo(tokens.access_token, id)), "OAUTH_WWW_AUTHENTICATE_CHALLENGE")
  })

  it("signs the person out, at the service too", async () => {
    const { browser } = await makeMember()
    const app = await makeApp()
    const attempt = await app.begin({ scope })
    const { onward } = await answer(browser, (await toPage(browser, attempt.url)).url, "allow")
    const tokens = await app.finish(attempt, (await browser.go(onward, isApp)).url)
    const parameters = { id_token_hint: tokens.id_token ?? "", post_logout_redirect_uri: afterLogout, state: "bye" }
    const there = await browser.go(app.logoutUrl(parameters), isApp)
    assert.strictEqual(there.url.href, `${afterLogout}?state=bye`)
    assert.strictEqual((await toPage(browser, (await app.begin({ scope })).url)).url.pathname, "/auth/login")
  })
})

describe("the consent page", () => {
  it("lets the person use another account", async () => {
    const [ann, bob] = [await makeMember(), await makeMember()]
    const app = await makeApp()
    const attempt = await app.begin({ scope })
    const consent = await toPage(ann.browser, attempt.url)
    const { onward } = await answer(ann.browser, consent.url, "switch")
    // Ann is signed out in this browser; Bob signs in.
    assert.strictEqual((await ask(service, "GET /api/auth/session", { headers: { cookie: ann.cookie } })).status, 401)
    const signIn = await toPage(ann.browser, onward)
    assert.strictEqual(signIn.url.pathname, "/auth/login")
    ann.browser.setCookie("127.0.0.1", "idp_session", bob.cookie.slice(bob.cookie.indexOf("=") + 1))
    const returnTo = signIn.url.searchParams.get("return_to") ?? ""
    // Bob's session is as old as the request; the person has just signed in.
    await sql(service, "update svc.identity_sessions set authenticated_at = now() where identity_id = $1::text::uuid", [
      bob.id
    ])
    const again = await toPage(ann.browser, returnTo)
    assert.strictEqual(again.url.pathname, "/oauth2/consent", String(again.url))
    const { onward: out, page } = await answer(ann.browser, again.url, "allow")
    assert.include(page.text, bob.email)
    const tokens = await app.finish(attempt, (await ann.browser.go(out, isApp)).url)
    assert.strictEqual(tokens.claims()?.sub, bob.id)
    assert.isDefined(tokens.refresh_token)
  })

  it("only switches by its own form", async () => {
    const { browser, cookie } = await makeMember()
    const app = await makeApp()
    const consent = await toPage(browser, (await app.begin({ scope })).url)
    const page = await openPage(browser, consent.url)
    const forged = await sendForm(browser, consent.url, pressed(page, "switch"), { origin: "https://evil.example" })
    assert.strictEqual(forged.status, 403)
    assert.strictEqual((await ask(service, "GET /api/auth/session", { headers: { cookie } })).status, 200)
  })
})
