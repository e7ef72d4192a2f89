import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll, beforeEach } from "vitest"
import { layerOAuth2Hydra } from "../../../src/layers/oauth2/hydra/Hydra.ts"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { startOAuth2Server } from "../../fakes/oauth2/server.ts"
import { type FakeRequest, json } from "../../fakes/oauth2/wire.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { authorizationUrl, challengeAt, fresh, party, signedIn, signIn } from "../../support/oauth2/oauth2.ts"
import { refusal } from "../../support/refusals.ts"

const fake = await startOAuth2Server()
afterAll(() => fake[Symbol.asyncDispose]())
const port = layerOAuth2Hydra({ adminUrl: fake.adminUrl, token: undefined })

beforeEach(() => {
  fake.requests.length = 0
  fake.intercept = () => undefined
  fake.behaviour.usedChallengesAreGone = false
})

layer(port, { excludeTestServices: true })("a challenge", (it) => {
  it.effect("that was answered returns the URL to restart from, if the server does", () =>
    Effect.gen(function* () {
      fake.behaviour.usedChallengesAreGone = true
      const port = yield* OAuth2
      const of = yield* party()
      const browser = startBrowsing()
      const url = authorizationUrl(fake, of)
      const login = yield* challengeAt(browser, url, "login")
      yield* port.acceptLogin(login, signedIn(fresh("ada")))
      const gone = yield* Effect.flip(port.login(login))
      assert.strictEqual(gone._tag === "Gone" && gone.redirect_to, url)
      assert.strictEqual(gone.code, "CHALLENGE_EXPIRED")
      assert.strictEqual(yield* refusal(port.acceptLogin(login, signedIn("ada"))), "410 CHALLENGE_EXPIRED")
      const consent = yield* signIn(fake, of, { browser, subject: fresh("ada") })
      yield* port.rejectConsent(consent, { error: "access_denied" })
      assert.strictEqual(yield* refusal(port.consent(consent)), "410 CHALLENGE_EXPIRED")
    })
  )

  it.effect("that has expired only redirects to web URLs", () =>
    Effect.gen(function* () {
      fake.intercept = () => json(410, { redirect_to: "javascript:alert(1)" })
      const gone = yield* Effect.flip(Effect.flatMap(OAuth2, ({ login }) => login("c")))
      assert.strictEqual(gone._tag === "Gone" && gone.redirect_to, null)
    })
  )

  it.effect("is sent unchanged with any content", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      fake.intercept = ({ query }: FakeRequest) => {
        seen.push(query.get("login_challenge") ?? "")
        return undefined
      }
      const { login } = yield* OAuth2
      for (const challenge of ["a&login_challenge=b", "é/../%2e#", "+ +"]) yield* Effect.ignore(login(challenge))
      assert.deepStrictEqual(seen, ["a&login_challenge=b", "é/../%2e#", "+ +"])
    })
  )
})

layer(port, { excludeTestServices: true })("text that can't name an object of the server", (it) => {
  it.effect.each(["a\u0000", "a\r\nb", "\u0085", "\ud800", ""])("is not sent: %j", (text) =>
    Effect.gen(function* () {
      const { client, clients, consents, login, mergeClientMetadata, revokeConsents, revokeLogins } = yield* OAuth2
      yield* refusal(login(text))
      yield* refusal(client(text))
      yield* refusal(clients({ pageSize: 1, pageToken: text }))
      yield* refusal(mergeClientMetadata(text, { a: 1 }))
      yield* consents(text)
      yield* revokeLogins(text)
      yield* revokeConsents(text, undefined)
      yield* revokeConsents("ada", text)
      assert.deepStrictEqual(fake.requests, [])
    })
  )
})

layer(port, { excludeTestServices: true })("metadata", (it) => {
  it.effect("that another request removes concurrently is removed", () =>
    Effect.gen(function* () {
      const { client } = yield* party({ metadata: { a: 1, b: 2, c: 3 } })
      const port = yield* OAuth2
      let concurrent = true
      const found = { ...client, metadata: { a: 1, b: 2, c: 3, gone: true } }
      fake.intercept = ({ method }: FakeRequest) => {
        if (method !== "GET" || !concurrent) return undefined
        concurrent = false
        return json(200, found)
      }
      const { metadata } = yield* port.mergeClientMetadata(client.client_id, { a: null, gone: null, d: 4 })
      assert.deepStrictEqual(metadata, { b: 2, c: 3, d: 4 })
    })
  )
})
