import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { setTimeout as sleep } from "node:timers/promises"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import {
  allow,
  arrive,
  authorizationUrl,
  callback,
  challengeAt,
  claimsOf,
  exchange,
  fresh,
  introspection,
  journey,
  party,
  refresh,
  signedIn,
  signIn,
  type TestServer
} from "../../support/oauth2/oauth2.ts"

/** Login and consent, from the authorization request to tokens. */
export const oauth2Flows = (it: Vitest.MethodsNonLive<OAuth2>, server: TestServer) => {
  it.effect("leads from a login and a consent to tokens with claims", () =>
    Effect.gen(function* () {
      const { acceptLogin, consent, login } = yield* OAuth2
      const of = yield* party({
        client_name: "Ä shop",
        logo_uri: "https://shop.example.com/logo.png",
        tos_uri: "https://shop.example.com/tos",
        policy_uri: "https://shop.example.com/policy",
        audience: ["https://api.example.com"],
        skip_consent: true,
        metadata: { skip_consent: true, plan: { size: 3 } }
      })
      const browser = startBrowsing()
      const subject = fresh("ada")
      const url = authorizationUrl(server, of, { audience: "https://api.example.com", prompt: "consent" })
      const first = yield* challengeAt(browser, url, "login")
      const loginRequest = yield* login(first)
      assert.strictEqual(loginRequest.challenge, first)
      assert.isFalse(loginRequest.skip)
      assert.strictEqual(loginRequest.subject, "")
      assert.strictEqual(new URL(loginRequest.requestUrl).searchParams.get("prompt"), "consent")
      assert.deepStrictEqual(
        { ...loginRequest.client, created_at: "", updated_at: "" },
        { ...of.client, created_at: "", updated_at: "" }
      )
      assert.isTrue(loginRequest.client.skip_consent)
      assert.deepStrictEqual(loginRequest.client.metadata, { skip_consent: true, plan: { size: 3 } })
      const second = yield* challengeAt(browser, (yield* acceptLogin(first, signedIn(subject))).redirectTo, "consent")
      const toAllow = yield* consent(second)
      assert.deepStrictEqual(
        { ...toAllow, client: toAllow.client.client_name, requestUrl: "" },
        {
          challenge: second,
          subject,
          skip: false,
          client: "Ä shop",
          requestedScope: ["openid", "offline"],
          requestedAudience: ["https://api.example.com"],
          requestUrl: ""
        }
      )
      const idTokenClaims = { email: "a@b.test", deep: { list: [1, "é", null] }, sub: "somebody else" }
      const given = yield* allow(second, {
        browser,
        subject,
        idTokenClaims,
        accessTokenClaims: { role: "editor", n: 1.5 }
      })
      assert.strictEqual(given["state"], "state-12345678")
      const { body, status } = yield* exchange(server, of, given["code"])
      assert.strictEqual(status, 200)
      const claims = claimsOf(body.id_token)
      assert.strictEqual(claims["sub"], subject)
      assert.strictEqual(claims["email"], "a@b.test")
      assert.deepStrictEqual(claims["deep"], idTokenClaims.deep)
      assert.strictEqual(claims["acr"], "aal1")
      assert.deepStrictEqual(claims["amr"], ["password"])
      assert.strictEqual(claims["nonce"], "nonce-12345678")
      const { active, ext, sub } = yield* introspection(server, of, body.access_token)
      assert.deepStrictEqual({ active, ext, sub }, { active: true, ext: { role: "editor", n: 1.5 }, sub: subject })
      const again = yield* refresh(server, of, body.refresh_token)
      assert.strictEqual(again.status, 200)
      assert.strictEqual(claimsOf(again.body.id_token)["email"], "a@b.test")
      // A code is valid once; using it again revokes its tokens.
      const stolen = yield* exchange(server, of, given["code"])
      assert.deepStrictEqual([stolen.status, stolen.body.error], [400, "invalid_grant"])
    })
  )

  it.effect("issues what is granted, not what was requested", () =>
    Effect.gen(function* () {
      const of = yield* party()
      const more = { scope: "openid offline email" }
      const { code } = yield* journey(server, of, { subject: fresh("ada"), more, grantScope: ["email"] })
      const { body } = yield* exchange(server, of, code)
      assert.isUndefined(body.id_token)
      assert.isUndefined(body.refresh_token)
      assert.strictEqual((yield* introspection(server, of, body.access_token))["scope"], "email")
    })
  )

  it.effect("reports a rejected login and consent to the client", () =>
    Effect.gen(function* () {
      const { rejectConsent, rejectLogin } = yield* OAuth2
      const of = yield* party()
      const browser = startBrowsing()
      const login = yield* challengeAt(browser, authorizationUrl(server, of), "login")
      const why = { error: "login_required", errorDescription: "Not\r\nthis\u0000one" }
      const one = yield* arrive(browser, (yield* rejectLogin(login, why)).redirectTo)
      assert.isTrue(one.url.href.startsWith(callback))
      assert.strictEqual(one.query["error"], "login_required")
      assert.match(one.query["error_description"] ?? "", /^Not this one/)
      assert.strictEqual(one.query["state"], "state-12345678")

      const consent = yield* signIn(server, of, { browser, subject: fresh("ada") })
      const two = yield* arrive(browser, (yield* rejectConsent(consent, { error: "access_denied" })).redirectTo)
      assert.strictEqual(two.query["error"], "access_denied")
      assert.strictEqual(two.query["state"], "state-12345678")
      assert.isUndefined(two.query["code"])
    })
  )

  it.effect("recognises the signed-in subject, and restarts for another one", () =>
    Effect.gen(function* () {
      const { acceptLogin, login } = yield* OAuth2
      const of = yield* party()
      const browser = startBrowsing()
      const subject = fresh("ada")
      yield* journey(server, of, { browser, subject })
      const second = yield* challengeAt(browser, authorizationUrl(server, of), "login")
      const { skip, subject: known } = yield* login(second)
      assert.deepStrictEqual({ skip, known }, { skip: true, known: subject })
      const { redirectTo } = yield* acceptLogin(second, signedIn(fresh("bob")))
      assert.strictEqual(new URL(redirectTo).searchParams.get("prompt"), "login")
      const third = yield* challengeAt(browser, redirectTo, "login")
      assert.isFalse((yield* login(third)).skip)
      const fourth = yield* challengeAt(browser, authorizationUrl(server, of, { prompt: "login" }), "login")
      assert.isFalse((yield* login(fourth)).skip)
      const none = yield* arrive(startBrowsing(), authorizationUrl(server, of, { prompt: "none" }))
      assert.strictEqual(none.query["error"], "login_required")
    })
  )

  it.effect("requires a new sign-in after max_age", () =>
    Effect.gen(function* () {
      const { login } = yield* OAuth2
      const of = yield* party()
      const browser = startBrowsing()
      yield* journey(server, of, { browser, subject: fresh("ada") })
      yield* Effect.promise(() => sleep(2_100))
      const old = yield* challengeAt(browser, authorizationUrl(server, of, { max_age: "1" }), "login")
      assert.isFalse((yield* login(old)).skip)
      const good = yield* challengeAt(browser, authorizationUrl(server, of, { max_age: "600" }), "login")
      assert.isTrue((yield* login(good)).skip)
    })
  )

  it.effect("accepts a login twice, but its consent only once", () =>
    Effect.gen(function* () {
      const { acceptLogin } = yield* OAuth2
      const of = yield* party()
      const browser = startBrowsing()
      const subject = fresh("ada")
      const login = yield* challengeAt(browser, authorizationUrl(server, of), "login")
      const one = yield* acceptLogin(login, signedIn(subject))
      const two = yield* acceptLogin(login, signedIn(subject))
      yield* challengeAt(browser, one.redirectTo, "consent")
      // A server may start the request again, in which the first sign-in counts.
      const { query } = yield* arrive(browser, two.redirectTo)
      const again = query["login_challenge"]
      const consent =
        again === undefined
          ? (query["consent_challenge"] ?? "")
          : yield* challengeAt(browser, (yield* acceptLogin(again, signedIn(subject))).redirectTo, "consent")
      const other = browser.copy()
      assert.isDefined((yield* allow(consent, { browser, subject }))["code"])
      const late = yield* allow(consent, { browser: other, subject }).pipe(
        Effect.catchTag("Gone", () => Effect.succeed<Readonly<Record<string, string>>>({ error: "access_denied" }))
      )
      assert.strictEqual(late["error"], "access_denied")
    })
  )

  it.effect("binds a sign-in to the browser that started it", () =>
    Effect.gen(function* () {
      const { acceptLogin } = yield* OAuth2
      const of = yield* party()
      const browser = startBrowsing()
      const subject = fresh("ada")
      const login = yield* challengeAt(browser, authorizationUrl(server, of), "login")
      const { redirectTo } = yield* acceptLogin(login, signedIn(subject))
      assert.strictEqual((yield* arrive(startBrowsing(), redirectTo)).query["error"], "request_forbidden")
      const consent = yield* challengeAt(browser, redirectTo, "consent")
      assert.strictEqual((yield* allow(consent, { subject }))["error"], "request_forbidden")
    })
  )
}
