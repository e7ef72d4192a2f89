import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { setTimeout as sleep } from "node:timers/promises"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import {
  allow,
  authorizationUrl,
  callback,
  challengeAt,
  exchange,
  fresh,
  introspection,
  journey,
  type Journey,
  party,
  type Party,
  refresh,
  signIn,
  type TestServer
} from "../../support/oauth2/oauth2.ts"

/** Consents: remembering, listing and revoking them. */
export const oauth2Consents = (it: Vitest.MethodsNonLive<OAuth2>, server: TestServer) => {
  // An admin API lists in pages, of which these are more than two. The embedded server asks its table once.
  const many = server.adminUrl === undefined ? 12 : 220

  const skips = (of: Party, how: Journey) =>
    Effect.gen(function* () {
      const { consent } = yield* OAuth2
      return (yield* consent(yield* signIn(server, of, how))).skip
    })

  it.effect("remembers a consent for the scopes that it covers", () =>
    Effect.gen(function* () {
      const of = yield* party()
      const how = { browser: startBrowsing(), subject: fresh("ada") }
      yield* journey(server, of, how)
      assert.isFalse(yield* skips(of, how), "nothing was to be remembered")
      yield* journey(server, of, { ...how, remember: true })
      assert.isTrue(yield* skips(of, how))
      assert.isTrue(yield* skips(of, { ...how, more: { scope: "openid" } }))
      assert.isFalse(yield* skips(of, { ...how, more: { scope: "openid offline email" } }))
      assert.isFalse(yield* skips(of, { ...how, more: { prompt: "consent" } }))
      // It also applies in other browsers: consents belong to the user.
      assert.isTrue(yield* skips(of, { subject: how.subject }))
      assert.isFalse(yield* skips(of, { subject: fresh("bob") }))
      assert.isFalse(yield* skips(yield* party(), how))
    })
  )

  it.effect("only uses the latest remembered consent", () =>
    Effect.gen(function* () {
      const of = yield* party()
      const how = { browser: startBrowsing(), subject: fresh("ada") }
      yield* journey(server, of, { ...how, remember: true })
      // The order of consents has a resolution of one second.
      yield* Effect.promise(() => sleep(1_100))
      yield* journey(server, of, { ...how, remember: true, grantScope: ["openid"], more: { prompt: "consent" } })
      assert.isFalse(yield* skips(of, how))
      assert.isTrue(yield* skips(of, { ...how, more: { scope: "openid" } }))
    })
  )

  it.effect("asks for consent again where any app of a device can receive the code", () =>
    Effect.gen(function* () {
      const again = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>>, redirect_uri: string) {
        const of = yield* party({ redirect_uris: [redirect_uri], post_logout_redirect_uris: [], ...fields })
        const how = { browser: startBrowsing(), subject: fresh("ada"), more: { redirect_uri } }
        const { acceptConsent } = yield* OAuth2
        const { redirectTo } = yield* acceptConsent(yield* signIn(server, of, how), {
          grantScope: ["openid", "offline"],
          grantAudience: [],
          remember: true,
          rememberFor: 0,
          idTokenClaims: {},
          accessTokenClaims: {}
        })
        // The server completes the request, and redirects to the app, which a browser of the tests can't open.
        yield* Effect.promise(() => how.browser.once(redirectTo))
        return !(yield* skips(of, how))
      })
      const isPublic = { token_endpoint_auth_method: "none" }
      assert.isTrue(yield* again(isPublic, "com.example.app:/callback"))
      // Ory Hydra trusts a loopback address, on which any program may listen (RFC 8252 8.6).
      assert.strictEqual(yield* again(isPublic, callback), server.adminUrl === undefined)
      assert.isFalse(yield* again(isPublic, "https://app.example.com/callback"))
      assert.isFalse(yield* again({}, callback))
    })
  )

  it.effect("lists the consents of a subject", () =>
    Effect.gen(function* () {
      const { consents } = yield* OAuth2
      const subject = fresh("ada & co/é")
      assert.deepStrictEqual(yield* consents(subject), [])
      const [one, two] = [yield* party({ client_name: "One" }), yield* party({ client_name: "Two" })]
      const browser = startBrowsing()
      yield* journey(server, one, { browser, subject, remember: true, grantScope: ["openid"] })
      yield* journey(server, two, { browser, subject })
      // A skipped request is not a new consent.
      yield* journey(server, one, { browser, subject, more: { scope: "openid" }, grantScope: ["openid"] })
      const known = yield* consents(subject)
      const shown = known
        .map(({ client, grantScope, handledAt, remember, requestedScope }) => {
          assert.closeTo(Date.parse(handledAt ?? ""), Date.now(), 60_000)
          assert.match(handledAt ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
          return { name: client.client_name, id: client.client_id, requestedScope, grantScope, remember }
        })
        .toSorted((a, b) => a.name.localeCompare(b.name))
      const requestedScope = ["openid", "offline"]
      assert.deepStrictEqual(shown, [
        { name: "One", id: one.client.client_id, requestedScope, grantScope: ["openid"], remember: true },
        { name: "Two", id: two.client.client_id, requestedScope, grantScope: requestedScope, remember: false }
      ])
      assert.deepStrictEqual(yield* consents(fresh("nobody")), [])
      assert.deepStrictEqual(yield* consents("\u0000"), [])
      assert.deepStrictEqual(yield* consents(""), [])
    })
  )

  it.effect(
    `lists ${many} consents of a subject`,
    () =>
      Effect.gen(function* () {
        const { consents, revokeConsents } = yield* OAuth2
        const of = yield* party()
        const subject = fresh("ada")
        const browser = startBrowsing()
        for (let n = 0; n < many; n++) {
          assert.isDefined((yield* journey(server, of, { browser, subject }))["code"])
        }
        assert.lengthOf(yield* consents(subject), many)
        yield* revokeConsents(subject, undefined)
        assert.lengthOf(yield* consents(subject), 0)
      }),
    120_000
  )

  it.effect("revokes the consents of one client or all, with their tokens", () =>
    Effect.gen(function* () {
      const { consents, revokeConsents } = yield* OAuth2
      const [one, two] = [yield* party(), yield* party()]
      const how = { browser: startBrowsing(), subject: fresh("ada"), remember: true }
      const tokensOf = (of: Party) =>
        Effect.gen(function* () {
          return (yield* exchange(server, of, (yield* journey(server, of, how))["code"])).body
        })
      const [first, second] = [yield* tokensOf(one), yield* tokensOf(two)]
      const isActive = (of: Party, token: string) =>
        Effect.map(introspection(server, of, token), ({ active }) => active)
      yield* revokeConsents(how.subject, "\u0000")
      yield* revokeConsents(how.subject, "")
      yield* revokeConsents("", undefined)
      yield* revokeConsents(how.subject, fresh("no-such-client"))
      yield* revokeConsents(fresh("nobody"), undefined)
      assert.isTrue(yield* isActive(one, first.access_token))
      assert.lengthOf(yield* consents(how.subject), 2)
      yield* revokeConsents(how.subject, one.client.client_id)
      assert.deepStrictEqual(
        (yield* consents(how.subject)).map(({ client }) => client.client_id),
        [two.client.client_id]
      )
      assert.isFalse(yield* isActive(one, first.access_token))
      assert.strictEqual((yield* refresh(server, one, first.refresh_token)).status, 400)
      assert.isTrue(yield* isActive(two, second.access_token))
      assert.isFalse(yield* skips(one, how))
      assert.isTrue(yield* skips(two, how))
      yield* revokeConsents(how.subject, undefined)
      assert.deepStrictEqual(yield* consents(how.subject), [])
      assert.isFalse(yield* isActive(two, second.access_token))
      assert.isFalse(yield* skips(two, how))
      // Revoking a missing consent succeeds.
      yield* revokeConsents(how.subject, undefined)
    })
  )

  it.effect("signs a subject out of the server and leaves tokens valid", () =>
    Effect.gen(function* () {
      const { login, revokeLogins } = yield* OAuth2
      const of = yield* party()
      const how = { browser: startBrowsing(), subject: fresh("ada") }
      const challenge = yield* signIn(server, of, how)
      const { body } = yield* exchange(server, of, (yield* allow(challenge, how))["code"])
      yield* revokeLogins(how.subject)
      yield* revokeLogins(how.subject)
      yield* revokeLogins("\u0000")
      const next = yield* challengeAt(how.browser, authorizationUrl(server, of), "login")
      assert.isFalse((yield* login(next)).skip)
      assert.isTrue((yield* introspection(server, of, body.access_token))["active"])
    })
  )
}
