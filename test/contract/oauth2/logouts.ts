import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import {
  afterLogout,
  arrive,
  authorizationUrl,
  challengeAt,
  exchange,
  fresh,
  journey,
  party,
  type TestServer
} from "../../support/oauth2/oauth2.ts"
import { refusal } from "../../support/refusals.ts"

/** Sign-out, started by a client or by the user. */
export const oauth2Logouts = (it: Vitest.MethodsNonLive<OAuth2>, server: TestServer) => {
  const endSession = (query: Readonly<Record<string, string>> = {}) =>
    `${server.publicUrl}/oauth2/sessions/logout?${new URLSearchParams(query)}`

  const start = Effect.gen(function* () {
    const of = yield* party()
    const how = { browser: startBrowsing(), subject: fresh("ada") }
    const { body } = yield* exchange(server, of, (yield* journey(server, of, how))["code"])
    const byClient = { id_token_hint: body.id_token ?? "", post_logout_redirect_uri: afterLogout, state: "s1" }
    return { ...how, of, byClient: endSession(byClient) }
  })

  it.effect("lets a client sign a user out", () =>
    Effect.gen(function* () {
      const { acceptLogout, login, logoutRequest } = yield* OAuth2
      const { browser, byClient, of, subject } = yield* start
      const challenge = yield* challengeAt(browser, byClient, "logout")
      const request = yield* logoutRequest(challenge)
      assert.deepStrictEqual(
        { ...request, client: request.client?.client_id },
        { challenge, subject, rpInitiated: true, client: of.client.client_id }
      )
      const { redirectTo } = yield* acceptLogout(challenge)
      const there = yield* arrive(browser, redirectTo)
      assert.isTrue(there.url.href.startsWith(afterLogout), there.url.href)
      assert.deepStrictEqual(there.query, { state: "s1" })
      assert.strictEqual(yield* refusal(logoutRequest(challenge)), "410 CHALLENGE_EXPIRED")
      const next = yield* challengeAt(browser, authorizationUrl(server, of), "login")
      assert.isFalse((yield* login(next)).skip)
      // The user is already signed out: the browser returns to the client immediately.
      assert.isTrue((yield* arrive(browser, byClient)).url.href.startsWith(afterLogout))
    })
  )

  it.effect("lets a user sign out", () =>
    Effect.gen(function* () {
      const { acceptLogout, login, logoutRequest } = yield* OAuth2
      const { browser, of, subject } = yield* start
      const challenge = yield* challengeAt(browser, endSession(), "logout")
      assert.deepStrictEqual(yield* logoutRequest(challenge), { challenge, subject, rpInitiated: false, client: null })
      const { redirectTo } = yield* acceptLogout(challenge)
      yield* Effect.promise(() => browser.once(redirectTo))
      const next = yield* challengeAt(browser, authorizationUrl(server, of), "login")
      assert.isFalse((yield* login(next)).skip)
    })
  )

  it.effect("keeps a user signed in when the sign-out is rejected", () =>
    Effect.gen(function* () {
      const { acceptLogout, login, logoutRequest, rejectLogout } = yield* OAuth2
      const { browser, byClient, of } = yield* start
      const challenge = yield* challengeAt(browser, byClient, "logout")
      yield* rejectLogout(challenge)
      assert.strictEqual(yield* refusal(logoutRequest(challenge)), "404 CHALLENGE_NOT_FOUND")
      const next = yield* challengeAt(browser, authorizationUrl(server, of), "login")
      assert.isTrue((yield* login(next)).skip)
      yield* rejectLogout(challenge).pipe(Effect.ignore)
      assert.notStrictEqual(yield* refusal(acceptLogout("no-such-logout")), "200")
    })
  )

  it.effect("does not redirect to URLs that are not the client's", () =>
    Effect.gen(function* () {
      const { browser, byClient } = yield* start
      const url = new URL(byClient)
      url.searchParams.set("post_logout_redirect_uri", "https://evil.example.com/")
      const there = yield* Effect.promise(() => browser.once(url))
      assert.strictEqual(new URL(there.headers.get("location") ?? "").searchParams.get("error"), "invalid_request")
    })
  )
}
