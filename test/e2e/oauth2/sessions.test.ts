import { assert } from "@effect/vitest"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, it } from "vitest"
import { json } from "../../fakes/oauth2/wire.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { cookie, signInAgain } from "../../support/identity/idp.ts"
import { otherOAuth2Server } from "../../support/oauth2/oauth2.ts"
import { until } from "../../support/service.ts"
import {
  afterLogout,
  allow,
  type Application,
  callback,
  fromDashboard,
  goOn,
  hostOf,
  makeApplication,
  makeVisitor,
  manage,
  refused,
  signIn,
  signInAtIdp,
  toConsent,
  type Browser
} from "../../support/identity/signIn.ts"
import { type FullStage, oauth2Servers, startStage } from "../../support/oauth2/signInSetup.ts"

describe.each(oauth2Servers)("with the %s OAuth 2.0 server,", (server) => {
  let stage: FullStage
  beforeAll(async () => {
    stage = await startStage({}, server)
  })
  afterAll(() => stage[Symbol.asyncDispose]())

  const isActive = async (token: string, application: Application) =>
    (await stage.introspect(token, application))["active"] === true

  /** Enters the password again, in the browser's session. */
  const again = ({ browser, person }: Browser) =>
    signInAgain(stage.idp, cookie(browser.cookie(hostOf(stage.idp), "idp_session") ?? ""), person)

  describe("an application that requests a sign-in", () => {
    it("with prompt=login gets a new one", async () => {
      const browser = await makeVisitor(stage)
      const application = await makeApplication(stage)
      await signIn(stage, browser, application)
      const attempt = await application.begin({ prompt: "login", max_age: "3600" })
      const idp = await goOn(stage, browser.browser, attempt.url)
      assert.strictEqual(idp.at, "idp")
      assert.strictEqual(idp.url.searchParams.get("refresh"), "true")
      const returnTo = idp.url.searchParams.get("return_to") ?? ""
      await again(browser)
      const consent = await goOn(stage, browser.browser, returnTo)
      assert.strictEqual(consent.at, "dashboard")
      const back = await allow(stage, browser, consent.url.searchParams.get("consent_challenge") ?? "")
      const tokens = await application.finish(attempt, back)
      assert.closeTo(Number(tokens.claims()?.auth_time), Date.now() / 1000, 60)
    })

    it("with prompt=login gets an error if the user did not sign in again", async () => {
      const browser = await makeVisitor(stage)
      const application = await makeApplication(stage)
      await signIn(stage, browser, application)
      // Makes the old sign-in older than the request.
      await stage.age(7_000)
      const attempt = await application.begin({ prompt: "login" })
      const idp = await goOn(stage, browser.browser, attempt.url)
      // Without the signed time, or with a forged one, the bridge requests a sign-in again.
      const bare = new URL(idp.url.searchParams.get("return_to") ?? "")
      bare.searchParams.set("since", `1.${"A".repeat(43)}`)
      assert.strictEqual((await goOn(stage, browser.browser, bare)).at, "idp")
      const there = await goOn(stage, browser.browser, idp.url.searchParams.get("return_to") ?? "")
      assert.strictEqual(there.at, "application")
      assert.strictEqual(await refused(application.finish(attempt, there.url)), "login_required")
    })

    it("with max_age gets one that is no older", async () => {
      const browser = await makeVisitor(stage)
      const application = await makeApplication(stage)
      await signIn(stage, browser, application)
      await stage.age(2_200)
      // The service keeps for a second what the identity provider has said of a session.
      const idp = await until(
        async () => goOn(stage, browser.browser.copy(), (await application.begin({ max_age: "1" })).url),
        ({ at }) => at === "idp"
      )
      assert.strictEqual(idp.at, "idp")
      const relaxed = await application.begin({ max_age: "3600" })
      assert.strictEqual((await goOn(stage, browser.browser, relaxed.url)).at, "dashboard")
    })

    it("with prompt=none gets one, or an error", async () => {
      const browser = await makeVisitor(stage)
      const application = await makeApplication(stage)
      const silently = async () => {
        const attempt = await application.begin({ prompt: "none" })
        const there = await goOn(stage, browser.browser, attempt.url)
        assert.strictEqual(there.at, "application", String(there.url))
        return refused(application.finish(attempt, there.url))
      }
      assert.strictEqual(await silently(), "login_required")
      await signIn(stage, browser, application)
      assert.strictEqual(await silently(), "consent_required")
      await signIn(stage, browser, application, { remember: true })
      assert.strictEqual(await silently(), "taken")
    })
  })

  describe("signing out", () => {
    it("by the application also ends the session at the identity provider", async () => {
      const browser = await makeVisitor(stage)
      const application = await makeApplication(stage)
      const tokens = await signIn(stage, browser, application, { remember: true })
      const url = application.logoutUrl({
        id_token_hint: tokens.id_token ?? "",
        post_logout_redirect_uri: afterLogout,
        state: "bye-12345"
      })
      const there = await goOn(stage, browser.browser, url)
      assert.strictEqual(there.url.href, `${afterLogout}?state=bye-12345`)
      const attempt = await application.begin()
      assert.strictEqual((await goOn(stage, browser.browser, attempt.url)).at, "idp")
      // Consents are still remembered: the user is signed out, nothing is revoked.
      await signInAtIdp(stage, browser)
      const next = await application.begin()
      assert.strictEqual((await goOn(stage, browser.browser, next.url)).at, "application")
    })

    it("by an administrator revokes sign-ins, consents and tokens", async () => {
      const browser = await makeVisitor(stage)
      const application = await makeApplication(stage)
      const tokens = await signIn(stage, browser, application, { remember: true })
      const stranger = await makeVisitor(stage)
      const others = await signIn(stage, stranger, application)
      const own = await fromDashboard(stage, browser.browser, "POST", "/logout", { subject: browser.person.id })
      assert.strictEqual(own.status, 403)
      const { body } = await manage(stage, "POST", "/logout", { subject: browser.person.id })
      assert.deepStrictEqual(body, { success: true })
      assert.isFalse(await isActive(tokens.access_token, application))
      assert.isTrue(await isActive(others.access_token, application))
      assert.strictEqual((await goOn(stage, browser.browser, (await application.begin()).url)).at, "dashboard")
    })
  })

  describe("a client", () => {
    it("can't use its old secret after a rotation", async () => {
      const browser = await makeVisitor(stage)
      const application = await makeApplication(stage)
      const { refresh_token = "" } = await signIn(stage, browser, application)
      const { body } = await manage(stage, "POST", `/clients/${application.id}/rotate-secret`)
      assert.notStrictEqual(body["client_secret"], application.secret)
      // RFC 6749 5.2 has a challenge in the header, which the library reports if there is one.
      assert.include(
        ["invalid_client", "OAUTH_WWW_AUTHENTICATE_CHALLENGE"],
        await refused(application.refresh(refresh_token))
      )
    })

    it("can't sign users in once it is deleted", async () => {
      const browser = await makeVisitor(stage)
      const application = await makeApplication(stage)
      await signIn(stage, browser, application)
      assert.strictEqual((await manage(stage, "DELETE", `/clients/${application.id}`)).status, 200)
      const attempt = await application.begin()
      const page = await browser.browser.once(attempt.url)
      assert.notInclude(page.headers.get("location") ?? "", callback)
      assert.strictEqual((await manage(stage, "GET", `/clients/${application.id}`)).status, 404)
    })
  })

  describe("the bridge", () => {
    it("reports that it is ready, and its URLs", async () => {
      const { body } = await fromDashboard(stage, startBrowsing(), "GET", "/bridge/status")
      assert.deepStrictEqual(body, {
        oauth2_configured: true,
        idp_configured: true,
        bridge_ready: true,
        login_url: `${stage.service.url}/api/oauth2/bridge/login`,
        consent_url: `${stage.service.url}/api/oauth2/bridge/consent`,
        logout_url: `${stage.service.url}/api/oauth2/bridge/logout`
      })
    })

    it.each(["login", "consent", "logout"])("rejects unknown %s challenges", async (kind) => {
      const ask = (query: string) => fromDashboard(stage, startBrowsing(), "GET", `/bridge/${kind}${query}`)
      assert.strictEqual((await ask("")).status, 400)
      for (const challenge of ["x", "..%2F..%2Fclients", "%C3%A9%20%26"]) {
        const { body, status } = await ask(`?${kind}_challenge=${challenge}`)
        assert.deepStrictEqual([status, body["code"]], [404, "CHALLENGE_NOT_FOUND"])
      }
    })

    it.runIf(otherOAuth2Server === undefined && server === "external")(
      "restarts requests that took too long or were already completed",
      async () => {
        const { behaviour } = stage.fake!
        const browser = await makeVisitor(stage)
        const application = await makeApplication(stage)
        const attempt = await application.begin()
        const idp = await goOn(stage, browser.browser, attempt.url)
        const bridge = idp.url.searchParams.get("return_to") ?? ""
        await signInAtIdp(stage, browser)
        const gone = async (path: string) => {
          const { body, status } = await fromDashboard(
            stage,
            browser.browser,
            "GET",
            path.replace(/.*\/api\/oauth2/, "")
          )
          assert.deepStrictEqual([status, body["code"]], [410, "CHALLENGE_EXPIRED"])
          return String(body["redirect_to"])
        }
        try {
          behaviour.challengeSeconds = -1
          assert.strictEqual(await gone(bridge), attempt.url.href)
          behaviour.challengeSeconds = 1_800
          behaviour.usedChallengesAreGone = true
          const challenge = await toConsent(stage, browser, bridge)
          await allow(stage, browser, challenge)
          const query = `consent_challenge=${encodeURIComponent(challenge)}`
          for (const path of [bridge, `/bridge/consent?${query}`, `/bridge/consent/info?${query}`]) {
            const from = await gone(path)
            assert.strictEqual(new URL(from).searchParams.get("state"), attempt.state)
            assert.strictEqual((await goOn(stage, browser.browser, from)).at, "dashboard")
          }
        } finally {
          behaviour.challengeSeconds = 1_800
          behaviour.usedChallengesAreGone = false
        }
      }
    )

    it.runIf(otherOAuth2Server === undefined && server === "external")(
      "reports that the server has failed, but not why",
      async () => {
        const fake = stage.fake!
        const browser = await makeVisitor(stage)
        const application = await makeApplication(stage)
        const challenge = await toConsent(stage, browser, (await application.begin()).url)
        const body = { challenge, grant_scope: ["openid"] }
        try {
          for (const [reply, code] of [
            [json(500, { error: "error", error_description: "hidden cause" }), "OAUTH2_UNAVAILABLE"],
            [json(403, { error: "hidden cause" }), "OAUTH2_CREDENTIALS_REFUSED"]
          ] as const) {
            fake.intercept = () => reply
            const response = await fromDashboard(stage, browser.browser, "POST", "/bridge/consent/accept", body)
            assert.deepStrictEqual([response.status, response.body["code"]], [502, code])
            assert.notInclude(JSON.stringify(response.body), "hidden")
          }
          const down = await until(
            () => fromDashboard(stage, startBrowsing(), "GET", "/bridge/status"),
            ({ body }) => body["bridge_ready"] === false
          )
          assert.deepInclude(down.body, { oauth2_configured: true, bridge_ready: false })
        } finally {
          fake.intercept = () => undefined
        }
        await allow(stage, browser, challenge)
      }
    )

    it("does not leak secrets", async () => {
      const browser = await makeVisitor(stage)
      const application = await makeApplication(stage)
      const attempt = await application.begin()
      const challenge = await toConsent(stage, browser, attempt.url)
      const back = await allow(stage, browser, challenge)
      const tokens = await application.finish(attempt, back)
      const session = browser.browser.cookie(hostOf(stage.idp), "idp_session") ?? ""
      const secrets = [
        stage.adminToken || "no admin token",
        application.secret,
        challenge,
        session,
        back.searchParams.get("code") ?? "",
        tokens.access_token,
        tokens.refresh_token ?? "",
        Redacted.value(cookie(session).value)
      ]
      const output = stage.service.output()
      for (const secret of secrets) {
        assert.isAbove(secret.length, 5)
        assert.notInclude(output, secret)
      }
    })
  })
})
