import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { afterAll, beforeEach, vi } from "vitest"
import { type ClientError } from "../../../../src/domain/errors.ts"
import { layerOAuth2Hydra } from "../../../../src/layers/oauth2/hydra/Hydra.ts"
import { layerOAuth2None } from "../../../../src/layers/oauth2/layer.ts"
import { OAuth2 } from "../../../../src/services/ports/OAuth2.ts"
import { startOAuth2Server } from "../../../fakes/oauth2/server.ts"
import { json, type Reply } from "../../../fakes/oauth2/wire.ts"
import { party } from "../../../support/oauth2/oauth2.ts"
import { all, assertAll, refusals } from "../../../support/oauth2/methods.ts"
import { refusal } from "../../../support/refusals.ts"

vi.setConfig({ testTimeout: 30_000 })

const adminToken = "admin-token-that-nobody-may-see"
const fake = await startOAuth2Server({ behaviour: { adminToken } })
afterAll(() => fake[Symbol.asyncDispose]())
const layerOf = (adminUrl: string, token = adminToken) =>
  layerOAuth2Hydra({ adminUrl, token: token === "" ? undefined : Redacted.make(token) })

beforeEach(() => {
  fake.requests.length = 0
  fake.intercept = () => undefined
})

/** The lines that were logged. */
const lines: Array<string> = []
const layerLines = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
const asUsual = Layer.mergeAll(layerOf(fake.adminUrl), layerLines)
const isReady = Effect.flatMap(OAuth2, ({ ready }) => ready)

/** Runs with a layer other than that of the tests. */
const run = <A>(effect: Effect.Effect<A, ClientError, OAuth2>, other: Layer.Layer<OAuth2>) =>
  Effect.provide(effect, Layer.mergeAll(other, layerLines))

const answerAll = (reply: Reply | "hang") => {
  fake.intercept = () => reply
}
const text = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Reply => ({
  status,
  headers: { "content-type": "text/html", ...headers },
  body
})

layer(asUsual, { excludeTestServices: true })("the admin token", (it) => {
  it.effect("is sent with every call", () =>
    Effect.gen(function* () {
      const answers = yield* refusals
      assert.isFalse(
        answers.some(([, answer]) => answer.startsWith("50")),
        JSON.stringify(answers)
      )
      assert.isAbove(fake.requests.length, 15)
      for (const { authorization } of fake.requests) assert.strictEqual(authorization, `Bearer ${adminToken}`)
    })
  )

  it.effect("missing or wrong is a 502 that does not contain it", () =>
    Effect.gen(function* () {
      for (const token of ["", "wrong-token-of-ours"]) {
        lines.length = 0
        assertAll("502 OAUTH2_CREDENTIALS_REFUSED", yield* run(refusals, layerOf(fake.adminUrl, token)))
        assert.isNotEmpty(lines)
        assert.notInclude(lines.join("\n"), "wrong-token-of-ours")
      }
      assert.isTrue(yield* isReady)
    })
  )

  it.effect("rejected in the server's own format is not mistaken for an expired challenge", () =>
    Effect.gen(function* () {
      answerAll(json(401, { error: "request_unauthorized", error_description: "Who are you?" }))
      assertAll("502 OAUTH2_CREDENTIALS_REFUSED", yield* refusals)
    })
  )

  it.effect("is not logged when a gateway repeats it", () =>
    Effect.gen(function* () {
      lines.length = 0
      answerAll(json(403, { error: "no", error_description: `You sent Bearer ${adminToken}\nFORGED line` }))
      assertAll("502 OAUTH2_CREDENTIALS_REFUSED", yield* refusals)
      assert.include(lines.join("\n"), "You sent Bearer …")
      assert.notInclude(lines.join("\n"), adminToken)
      assert.isFalse(lines.some((line) => line.includes("\n")))
    })
  )
})

layer(asUsual, { excludeTestServices: true })("a server that fails", (it) => {
  it.effect.each([
    { name: "500", reply: json(500, { error: "error", error_description: "secret thing" }) },
    { name: "a redirect", reply: text(302, "", { location: "http://127.0.0.1:1/elsewhere" }) },
    { name: "a page", reply: text(200, "<p>Welcome</p>") },
    { name: "a missing page", reply: text(404, "404 page not found") },
    { name: "broken JSON", reply: { status: 200, headers: { "content-type": "application/json" }, body: '{"a":' } },
    { name: "other JSON", reply: json(200, { hello: "world" }) },
    { name: "other types", reply: json(200, [{ client_id: 5 }]) }
  ])("with $name is a 502", ({ reply }) =>
    Effect.gen(function* () {
      lines.length = 0
      answerAll(reply)
      // For these calls only the status matters.
      const expected = reply.status === 200 ? "ok" : "502 OAUTH2_UNAVAILABLE"
      const but = Object.fromEntries(
        ["rejectLogout", "revokeConsents", "revokeLogins", "removeClient"].map((name) => [name, expected])
      )
      const broken = reply.body === '{"a":' ? "502 OAUTH2_UNAVAILABLE" : undefined
      const answers = yield* refusals
      assertAll("502 OAUTH2_UNAVAILABLE", answers, broken === undefined ? but : {})
      assert.isNotEmpty(lines)
      assert.isFalse(lines.some((line) => line.includes("challenge=") || line.includes("subject=")))
    })
  )

  it.effect("by redirecting to a scheme other than http is a 502", () =>
    Effect.gen(function* () {
      answerAll(json(200, { redirect_to: "javascript:alert(1)" }))
      const { acceptConsent, acceptLogin, acceptLogout } = yield* all
      for (const one of [acceptConsent, acceptLogin, acceptLogout]) {
        assert.strictEqual(yield* refusal(one), "502 OAUTH2_UNAVAILABLE")
      }
    })
  )

  it.effect("that is unreachable is a 502, and not ready", () =>
    Effect.gen(function* () {
      const unreachable = layerOf("http://127.0.0.1:1")
      assertAll("502 OAUTH2_UNAVAILABLE", yield* run(refusals, unreachable))
      assert.isFalse(
        yield* run(
          Effect.flatMap(OAuth2, ({ ready }) => ready),
          unreachable
        )
      )
    })
  )

  it.effect("is retried for idempotent calls, and for no others", () =>
    Effect.gen(function* () {
      answerAll(json(503, { error: "busy" }))
      const methods = yield* all
      const times = (method: Effect.Effect<unknown, ClientError>) =>
        Effect.gen(function* () {
          fake.requests.length = 0
          assert.strictEqual(yield* refusal(method), "502 OAUTH2_UNAVAILABLE")
          return fake.requests.length
        })
      for (const method of [methods.login, methods.consents, methods.revokeConsents, methods.revokeLogins]) {
        assert.strictEqual(yield* times(method), 3)
      }
      for (const method of [methods.acceptLogin, methods.acceptConsent, methods.createClient, methods.removeClient]) {
        assert.strictEqual(yield* times(method), 1)
      }
    })
  )

  it.effect("transiently is retried", () =>
    Effect.gen(function* () {
      const { client } = yield* party()
      let left = 2
      fake.intercept = () => (left-- > 0 ? json(502, {}) : undefined)
      const found = yield* Effect.flatMap(OAuth2, (port) => port.client(client.client_id))
      assert.strictEqual(found.client_id, client.client_id)
    })
  )

  it.effect("to respond is a 504 after 5 s for reads, and 10 s for changes", () =>
    Effect.gen(function* () {
      answerAll("hang")
      const { acceptLogin, login } = yield* all
      const from = Date.now()
      const timed = (method: Effect.Effect<unknown, ClientError>) =>
        Effect.map(refusal(method), (answer) => ({ answer, seconds: Math.round((Date.now() - from) / 1000) }))
      const ready = Effect.map(isReady, (answer) => ({
        answer,
        seconds: Math.round((Date.now() - from) / 1000)
      }))
      const answers = yield* Effect.all([timed(login), timed(acceptLogin), ready], { concurrency: 3 })
      assert.deepStrictEqual(answers, [
        { answer: "504 OAUTH2_TIMEOUT", seconds: 5 },
        { answer: "504 OAUTH2_TIMEOUT", seconds: 10 },
        { answer: false, seconds: 2 }
      ])
    })
  )

  it.effect("with too large a response is a 502", () =>
    Effect.gen(function* () {
      answerAll(json(200, { client_id: "x".repeat(20 * 1024 * 1024) }))
      const { client } = yield* all
      assert.strictEqual(yield* refusal(client), "502 OAUTH2_UNAVAILABLE")
    })
  )

  it.effect("with a cycle of pages ends the loop", () =>
    Effect.gen(function* () {
      answerAll(json(200, [], { link: '</x?page_token=t>; rel="next"' }))
      assert.deepStrictEqual(yield* Effect.flatMap(OAuth2, ({ consents }) => consents("ada")), [])
      assert.lengthOf(fake.requests, 2)
    })
  )
})

describe("without a server", () => {
  it.effect("every call is a 503", () =>
    Effect.gen(function* () {
      assertAll("503 NOT_CONFIGURED", yield* run(refusals, layerOAuth2None))
      const { configured, ready } = yield* run(
        Effect.map(OAuth2, (port) => port),
        layerOAuth2None
      )
      assert.isFalse(configured)
      assert.isFalse(yield* ready)
    })
  )
})
