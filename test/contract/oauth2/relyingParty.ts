import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import {
  afterLogout,
  allow,
  arrive,
  callback,
  challengeAt,
  fresh,
  party,
  signedIn,
  type TestServer
} from "../../support/oauth2/oauth2.ts"
import { startRelyingParty } from "../../support/oauth2/relyingParty.ts"

const methods = ["client_secret_basic", "client_secret_post", "none"] as const

/** The view of an application that signs users in with a certified library. */
export const oauth2RelyingParty = (it: Vitest.MethodsNonLive<OAuth2>, server: TestServer) => {
  it.effect.each(methods)("serves a relying party that authenticates by %s", (method) =>
    Effect.gen(function* () {
      const port = yield* OAuth2
      const { client, secret } = yield* party({ token_endpoint_auth_method: method })
      const subject = fresh("ada")
      const browser = startBrowsing()
      const registered = { clientId: client.client_id, secret, method, redirectUri: callback }
      const application = yield* Effect.promise(() => startRelyingParty(`${server.publicUrl}/`, registered))
      const attempt = yield* Effect.promise(() => application.begin({ max_age: "600" }))
      const login = yield* challengeAt(browser, attempt.url.href, "login")
      const { redirectTo } = yield* port.acceptLogin(login, signedIn(subject))
      const consent = yield* challengeAt(browser, redirectTo, "consent")
      const accepted = yield* port.acceptConsent(consent, {
        grantScope: ["openid", "offline"],
        grantAudience: [],
        remember: false,
        rememberFor: 0,
        idTokenClaims: { email: "ada@test.example", level: 3 },
        accessTokenClaims: {}
      })
      const back = yield* arrive(browser, accepted.redirectTo)
      const tokens = yield* Effect.promise(() => application.finish(attempt, back.url))
      assert.strictEqual(tokens.claims()?.sub, subject)
      assert.strictEqual(tokens.claims()?.["email"], "ada@test.example")
      assert.strictEqual(tokens.scope, "openid offline")
      const info = yield* Effect.promise(() => application.userinfo(tokens.access_token, subject))
      assert.deepStrictEqual([info.sub, info["email"], info["level"]], [subject, "ada@test.example", 3])

      const old = tokens.refresh_token ?? ""
      const renewed = yield* Effect.promise(() => application.refresh(old))
      assert.strictEqual(renewed.claims()?.sub, subject)
      assert.notStrictEqual(renewed.access_token, tokens.access_token)
      yield* Effect.promise(() => application.userinfo(renewed.access_token, subject))
      const failed = (promise: () => Promise<unknown>) => Effect.flip(Effect.tryPromise(promise))
      // After a rotation the old tokens are invalid.
      yield* failed(() => application.userinfo(tokens.access_token, subject))
      yield* Effect.promise(() => application.revoke(renewed.access_token))
      yield* failed(() => application.userinfo(renewed.access_token, subject))

      const logoutParameters = {
        post_logout_redirect_uri: afterLogout,
        state: "bye-12345",
        id_token_hint: renewed.id_token ?? ""
      }
      const logout = yield* challengeAt(browser, application.logoutUrl(logoutParameters).href, "logout")
      const gone = yield* arrive(browser, (yield* port.acceptLogout(logout)).redirectTo)
      assert.strictEqual(`${gone.url.origin}${gone.url.pathname}`, afterLogout)
      assert.strictEqual(gone.query["state"], "bye-12345")
    })
  )

  it.effect("rejects an intercepted code", () =>
    Effect.gen(function* () {
      const { acceptLogin } = yield* OAuth2
      const { client, secret } = yield* party()
      const subject = fresh("ada")
      const browser = startBrowsing()
      const registered = {
        clientId: client.client_id,
        secret,
        method: "client_secret_basic" as const,
        redirectUri: callback
      }
      const application = yield* Effect.promise(() => startRelyingParty(`${server.publicUrl}/`, registered))
      const attempt = yield* Effect.promise(() => application.begin())
      const other = yield* Effect.promise(() => application.begin())
      const login = yield* challengeAt(browser, attempt.url.href, "login")
      const { redirectTo } = yield* acceptLogin(login, signedIn(subject))
      const query = yield* allow(yield* challengeAt(browser, redirectTo, "consent"), { browser, subject })
      const back = new URL(`${callback}?${new URLSearchParams(query)}`)
      const caught = { ...attempt, verifier: other.verifier }
      const error = yield* Effect.flip(
        Effect.tryPromise({
          try: () => application.finish(caught, back),
          catch: (cause) => (cause as { readonly error?: string }).error
        })
      )
      assert.strictEqual(error, "invalid_grant")
    })
  )
}
