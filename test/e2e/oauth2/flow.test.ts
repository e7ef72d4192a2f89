import { assert } from "@effect/vitest"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, it } from "vitest"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { deletePerson, tokenOf } from "../../support/identity/idp.ts"
import {
  allow,
  fromDashboard,
  goOn,
  hostOf,
  makeApplication,
  makeVisitor,
  manage,
  refused,
  signIn,
  signInAtIdp,
  toConsent
} from "../../support/identity/signIn.ts"
import { type FullStage, startStage } from "../../support/oauth2/signInSetup.ts"

let stage: FullStage
beforeAll(async () => {
  stage = await startStage()
  const { status } = await manage(stage, "PUT", "/claims-config", {
    id_token_claims: {
      email: "{{traits.email}}",
      display: "{{traits.name}} <{{traits.email}}>",
      plan: "{{metadata_public.plan}}",
      missing: "{{traits.nothing}}"
    },
    access_token_claims: { who: "{{id}}", level: "{{metadata_public.level}}" }
  })
  assert.strictEqual(status, 200)
})
afterAll(() => stage[Symbol.asyncDispose]())

const isActive = async (token: string) => (await introspected(token))["active"] === true
const introspected = (token: string) => stage.introspect(token)

describe("an application signs a user in through the bridge", () => {
  it("with the identity provider and the consent page", async () => {
    const visitor = await makeVisitor(stage)
    const application = await makeApplication(stage, { logo_uri: "https://shop.example.com/l.png" })
    const attempt = await application.begin({ scope: "openid offline email profile" })
    const idp = await goOn(stage, visitor.browser, attempt.url)
    assert.strictEqual(idp.at, "idp")
    const back = new URL(idp.url.searchParams.get("return_to") ?? "")
    assert.strictEqual(`${back.origin}${back.pathname}`, `${stage.service.url}/api/oauth2/bridge/login`)

    const challenge = await toConsent(stage, visitor, attempt.url)
    const info = await fromDashboard(
      stage,
      visitor.browser,
      "GET",
      `/bridge/consent/info?consent_challenge=${encodeURIComponent(challenge)}`
    )
    assert.deepStrictEqual(info, {
      status: 200,
      body: {
        challenge,
        client: {
          client_id: application.id,
          client_name: "Shop",
          logo_uri: "https://shop.example.com/l.png",
          tos_uri: "",
          policy_uri: ""
        },
        requested_scope: ["openid", "offline", "email", "profile"],
        requested_access_token_audience: [],
        subject: visitor.person.id,
        skip: false
      }
    })
    const beyond = { challenge, grant_scope: ["openid", "admin"], remember: false }
    const denied = await fromDashboard(stage, visitor.browser, "POST", "/bridge/consent/accept", beyond)
    assert.strictEqual(denied.status, 400)

    const scope = ["openid", "offline", "email"]
    const tokens = await application.finish(attempt, await allow(stage, visitor, challenge, { scope }))
    assert.strictEqual(tokens.scope, scope.join(" "))
    const claims = tokens.claims() ?? { sub: "" }
    const { email, id } = visitor.person
    const expected = { sub: id, email, display: `Ada Lovelace <${email}>`, plan: { tier: "pro" } }
    assert.deepInclude(claims, { ...expected, acr: "aal1" })
    assert.notProperty(claims, "missing")
    const info2 = await application.userinfo(tokens.access_token, id)
    assert.deepInclude(info2, expected)
    const { active, client_id, ext, scope: granted, sub } = await introspected(tokens.access_token)
    assert.deepStrictEqual(
      { active, client_id, ext, granted, sub },
      { active: true, client_id: application.id, ext: { who: id, level: 3 }, granted: scope.join(" "), sub: id }
    )

    const renewed = await application.refresh(tokens.refresh_token ?? "")
    assert.deepInclude(renewed.claims() ?? {}, expected)
    assert.deepInclude(await application.userinfo(renewed.access_token, id), expected)
    assert.isFalse(await isActive(tokens.access_token))
  })

  it("with a session token instead of the identity provider's cookie", async () => {
    const visitor = await makeVisitor(stage)
    const application = await makeApplication(stage, { token_endpoint_auth_method: "client_secret_post" })
    const { value } = await tokenOf(stage.idp, visitor.person)
    visitor.browser.setCookie(hostOf(stage.idp), "svc_session", Redacted.value(value))
    const { idClaims } = await signIn(stage, visitor, application)
    assert.strictEqual(idClaims?.sub, visitor.person.id)
  })

  it("as a public client", async () => {
    const visitor = await makeVisitor(stage)
    const application = await makeApplication(stage, { token_endpoint_auth_method: "none" })
    assert.strictEqual(application.secret, "")
    const { idClaims } = await signIn(stage, visitor, application)
    assert.strictEqual(idClaims?.sub, visitor.person.id)
  })
})

describe("consent", () => {
  it("is not requested again until revoked, if remembered", async () => {
    const visitor = await makeVisitor(stage)
    const { browser, person } = visitor
    const application = await makeApplication(stage)
    const first = await signIn(stage, visitor, application, { remember: true })
    const again = await application.begin()
    const there = await goOn(stage, browser, again.url)
    assert.strictEqual(there.at, "application")
    const tokens = await application.finish(again, there.url)
    assert.strictEqual(tokens.scope, "openid offline")
    // These tokens contain the claims too, of the same scopes.
    assert.strictEqual(tokens.claims()?.["display"], `Ada Lovelace <${person.email}>`)
    assert.notProperty(tokens.claims(), "email")
    const wider = await application.begin({ scope: "openid offline email" })
    assert.strictEqual((await goOn(stage, browser, wider.url)).at, "dashboard")

    const list = await fromDashboard(stage, browser, "GET", `/consent/${person.id}`)
    const [consent, ...more] = list.body as unknown as ReadonlyArray<Record<string, unknown>>
    assert.isEmpty(more)
    assert.deepInclude(consent, {
      consent_request: {
        client: { client_id: application.id, client_name: "Shop" },
        requested_scope: ["openid", "offline"]
      },
      grant_scope: ["openid", "offline"],
      remember: true
    })

    const stranger = await makeVisitor(stage)
    await signIn(stage, stranger, application)
    const path = `/consent/${person.id}?client=${encodeURIComponent(application.id)}`
    assert.strictEqual((await fromDashboard(stage, stranger.browser, "GET", `/consent/${person.id}`)).status, 403)
    assert.strictEqual((await fromDashboard(stage, stranger.browser, "DELETE", path)).status, 403)
    assert.isTrue(await isActive(tokens.access_token))

    const revoked = await fromDashboard(stage, browser, "DELETE", path)
    assert.deepStrictEqual(revoked, { status: 200, body: { success: true } })
    assert.isFalse(await isActive(tokens.access_token))
    assert.strictEqual(await refused(application.refresh(first.refresh_token ?? "")), "invalid_grant")
    assert.strictEqual((await goOn(stage, browser, (await application.begin()).url)).at, "dashboard")
  })

  it("is reported to the application if denied", async () => {
    const visitor = await makeVisitor(stage)
    const application = await makeApplication(stage)
    const attempt = await application.begin()
    const challenge = await toConsent(stage, visitor, attempt.url)
    const body = { challenge, error: "access_denied", error_description: "Not today" }
    const response = await fromDashboard(stage, visitor.browser, "POST", "/bridge/consent/reject", body)
    const there = await goOn(stage, visitor.browser, String(response.body["redirect_to"]))
    assert.strictEqual(there.at, "application")
    assert.strictEqual(await refused(application.finish(attempt, there.url)), "access_denied")
  })

  it("can only be given by the subject", async () => {
    const [visitor, stranger] = [await makeVisitor(stage), await makeVisitor(stage)]
    const application = await makeApplication(stage)
    await signIn(stage, stranger, application)
    const challenge = await toConsent(stage, visitor, (await application.begin()).url)
    const query = `consent_challenge=${encodeURIComponent(challenge)}`
    const replies = [
      await fromDashboard(stage, stranger.browser, "GET", `/bridge/consent/info?${query}`),
      await fromDashboard(stage, stranger.browser, "POST", "/bridge/consent/accept", { challenge, grant_scope: [] }),
      await fromDashboard(stage, stranger.browser, "POST", "/bridge/consent/reject", { challenge })
    ]
    for (const { body, status } of replies) {
      assert.deepStrictEqual([status, body["code"]], [403, "CHALLENGE_FORBIDDEN"])
    }
  })

  it("is not requested for a client that may skip it", async () => {
    const visitor = await makeVisitor(stage)
    const application = await makeApplication(stage, { metadata: { kept: true } })
    const change = { metadata: { skip_consent: true } }
    const changed = await manage(stage, "PUT", `/clients/${application.id}`, change)
    assert.deepStrictEqual(changed.body["metadata"], { kept: true, skip_consent: true })
    const attempt = await application.begin({ scope: "openid offline email" })
    assert.strictEqual((await goOn(stage, visitor.browser, attempt.url)).at, "idp")
    await signInAtIdp(stage, visitor)
    const there = await goOn(stage, visitor.browser, attempt.url)
    assert.strictEqual(there.at, "application")
    const tokens = await application.finish(attempt, there.url)
    assert.strictEqual(tokens.scope, "openid offline email")
    assert.strictEqual(tokens.claims()?.["email"], visitor.person.email)
  })

  it("of a deleted identity is denied", async () => {
    const visitor = await makeVisitor(stage)
    const application = await makeApplication(stage)
    const attempt = await application.begin()
    const challenge = await toConsent(stage, visitor, attempt.url)
    await deletePerson(stage.idp, visitor.person)
    const signedOut = { person: visitor.person, browser: startBrowsing() }
    const body = { challenge, grant_scope: ["openid"] }
    const response = await fromDashboard(stage, signedOut.browser, "POST", "/bridge/consent/accept", body)
    const there = await goOn(stage, visitor.browser, String(response.body["redirect_to"]))
    assert.strictEqual(await refused(application.finish(attempt, there.url)), "access_denied")
  })
})
