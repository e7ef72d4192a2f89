import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import {
  authorizationUrl,
  challengeAt,
  fresh,
  party,
  signedIn,
  signIn,
  type TestServer
} from "../../support/oauth2/oauth2.ts"
import { refusal } from "../../support/refusals.ts"

const nothing = {
  grantScope: [],
  grantAudience: [],
  remember: false,
  rememberFor: 0,
  idTokenClaims: {},
  accessTokenClaims: {}
}

/** Unknown and expired challenges. */
export const oauth2Challenges = (it: Vitest.MethodsNonLive<OAuth2>, server: TestServer) => {
  it.effect.each([
    { name: "letters", challenge: "x" },
    { name: "steps", challenge: "../../../clients" },
    { name: "marks", challenge: "a b&c=d#e?f" },
    { name: "NUL", challenge: "\u0000" },
    { name: "lines", challenge: "é\r\nX: y" },
    { name: "nothing", challenge: "" },
    { name: "40,000 letters", challenge: "y".repeat(40_000) }
  ])("rejects the unknown challenge: $name", ({ challenge }) =>
    Effect.gen(function* () {
      const port = yield* OAuth2
      const why = { error: "access_denied" }
      const all = [
        port.login(challenge),
        port.acceptLogin(challenge, signedIn("ada")),
        port.rejectLogin(challenge, why),
        port.consent(challenge),
        port.acceptConsent(challenge, nothing),
        port.rejectConsent(challenge, why),
        port.logoutRequest(challenge),
        port.acceptLogout(challenge),
        port.rejectLogout(challenge)
      ]
      for (const [index, call] of all.entries()) {
        assert.strictEqual(yield* refusal<unknown, never>(call), "404 CHALLENGE_NOT_FOUND", String(index))
      }
    })
  )

  it.effect("does not accept one kind of challenge as another", () =>
    Effect.gen(function* () {
      const { acceptLogin, consent } = yield* OAuth2
      const of = yield* party()
      const browser = startBrowsing()
      const login = yield* challengeAt(browser, authorizationUrl(server, of), "login")
      assert.strictEqual(yield* refusal(consent(login)), "404 CHALLENGE_NOT_FOUND")
      const second = yield* signIn(server, of, { browser, subject: fresh("ada") })
      assert.strictEqual(yield* refusal(acceptLogin(second, signedIn("ada"))), "404 CHALLENGE_NOT_FOUND")
    })
  )

  it.effect.runIf(server.outwait !== undefined)("reports that an old challenge has expired", () =>
    Effect.gen(function* () {
      const port = yield* OAuth2
      const of = yield* party()
      const browser = startBrowsing()
      const consent = yield* signIn(server, of, { browser, subject: fresh("ada") })
      const login = yield* challengeAt(browser, authorizationUrl(server, of), "login")
      const undo = yield* Effect.promise(async () => server.outwait?.())
      const why = { error: "access_denied" }
      const all = [
        port.login(login),
        port.acceptLogin(login, signedIn("ada")),
        port.rejectLogin(login, why),
        port.consent(consent),
        port.acceptConsent(consent, nothing),
        port.rejectConsent(consent, why)
      ]
      const refusals = yield* Effect.forEach(all, (call) => refusal<unknown, never>(call))
      undo?.()
      assert.deepStrictEqual(
        refusals,
        all.map(() => "410 CHALLENGE_EXPIRED")
      )
    })
  )
}
