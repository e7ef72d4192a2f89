import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { type ClientError } from "../../../../src/domain/errors.ts"
import { layerIdPKratos } from "../../../../src/layers/identity/kratos/Kratos.ts"
import { IdP } from "../../../../src/services/ports/IdP.ts"
import { cookie, token } from "../../../support/identity/idp.ts"
import { type Receiver, startReceiver } from "../../../support/webhooks/receiver.ts"
import { refusal } from "../../../support/refusals.ts"

/** A receiver that stands in for the identity provider in a test, until the scope closes. */
const receiver = Effect.acquireDisposable(Effect.promise(() => startReceiver()))

type Service = IdP["Service"]

/** A new instance of the port for the server at `url`. */
const using = <A, E>(url: string, use: (port: Service) => Effect.Effect<A, E>, adminUrl: string | undefined = url) =>
  Effect.provide(Effect.flatMap(IdP, use), Layer.fresh(layerIdPKratos({ publicUrl: url, adminUrl })))

const outcome = <A>(url: string, use: (port: Service) => Effect.Effect<A, ClientError>) => refusal(using(url, use))

const json = { "content-type": "application/json" }
const flowId = "5b1f6a3e-0000-4000-8000-000000000000"
const identity = { id: flowId, schema_id: "default", traits: { email: "a@b.example" } }
const session = JSON.stringify({
  id: flowId,
  active: true,
  expires_at: "2030-01-01T00:00:00Z",
  authenticated_at: "2026-01-01T00:00:00Z",
  issued_at: "2026-01-01T00:00:00Z",
  authenticator_assurance_level: "aal1",
  identity
})
const flow = (nodes: ReadonlyArray<unknown> = []) => JSON.stringify({ id: flowId, ui: { nodes, messages: [] } })
const error = (code: number, id: string) => JSON.stringify({ error: { code, id, reason: id } })
const mine = token("ory_st_hidden")

const paths = ({ received }: Receiver) => received.map(({ path }) => path.split("?")[0])

describe("IdPKratos", () => {
  it.live("returns 502 for invalid responses", () =>
    Effect.gen(function* () {
      const idp = yield* receiver
      const answers = {
        html: { status: 200, headers: { "content-type": "text/html" }, body: "<html>" },
        "invalid JSON": { status: 200, headers: json, body: "{" },
        empty: { status: 200, headers: json, body: "" },
        "another form": { status: 200, headers: json, body: `{"id":1}` },
        "no identity": { status: 200, headers: json, body: JSON.stringify({ ...JSON.parse(session), identity: null }) },
        "too large": { status: 200, headers: json, body: `"${"x".repeat(5 * 1024 * 1024)}"` },
        "a redirect": { status: 302, headers: { location: `${idp.url}/elsewhere` } },
        "404 of a page": { status: 404, headers: { "content-type": "text/plain" }, body: "404 page not found" },
        "403 of a gateway": { status: 403, headers: { "content-type": "text/html" }, body: "no" },
        "500": { status: 500, headers: json, body: error(500, "") },
        "429": { status: 429, headers: json, body: "{}" }
      }
      for (const [name, answer] of Object.entries(answers)) {
        idp.answer = () => answer
        idp.received.length = 0
        assert.strictEqual(yield* outcome(idp.url, (port) => port.session(mine)), "502 IDP_UNAVAILABLE", name)
        assert.deepStrictEqual(paths(idp), ["/sessions/whoami"], name)
        const calls: ReadonlyArray<(port: Service) => Effect.Effect<unknown, ClientError>> = [
          (port) => port.beginTotp(mine),
          (port) => port.beginPasskeyLogin,
          (port) => port.identities({ pageSize: 1 }),
          (port) => port.logout(cookie("abc"))
        ]
        for (const ask of calls) assert.strictEqual(yield* outcome(idp.url, ask), "502 IDP_UNAVAILABLE", name)
      }
    })
  )

  it.live("returns 502 when the server is unreachable", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(receiver)
      assert.strictEqual(yield* outcome(url, (port) => port.session(mine)), "502 IDP_UNAVAILABLE")
      assert.strictEqual(yield* outcome(url, (port) => port.recover(flowId, "a@b.example")), "502 IDP_UNAVAILABLE")
      assert.isFalse(yield* using(url, (port) => port.ready))
    })
  )

  it.effect("times out after 5 s for reads and 10 s for submits", () =>
    Effect.gen(function* () {
      const idp = yield* receiver
      idp.answer = () => ({ hang: true })
      const cases: ReadonlyArray<readonly [number, string, (port: Service) => Effect.Effect<unknown, ClientError>]> = [
        [5_000, "/sessions/whoami", (port) => port.session(mine)],
        [10_000, "/self-service/recovery", (port) => port.recover(flowId, "a@b.example")]
      ]
      for (const [millis, path, ask] of cases) {
        const fiber = yield* Effect.forkChild(outcome(idp.url, ask))
        yield* Effect.promise(async () => {
          for (const until = Date.now() + 5_000; !paths(idp).includes(path) && Date.now() < until;)
            await new Promise((passed) => setTimeout(passed, 5))
        })
        yield* TestClock.adjust(millis - 1)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* Fiber.join(fiber), "504 IDP_TIMEOUT")
      }
    })
  )

  it.live("retries only reads", () =>
    Effect.gen(function* () {
      const idp = yield* receiver
      const good = { status: 200, headers: json, body: session }
      for (const bad of [{ status: 503 }, { status: 502 }, { reset: true }]) {
        idp.received.length = 0
        idp.answer = () => (idp.received.length < 3 ? bad : good)
        assert.strictEqual(yield* outcome(idp.url, (port) => port.session(mine)), "ok", JSON.stringify(bad))
        assert.lengthOf(idp.received, 3)
        idp.received.length = 0
        idp.answer = () => bad
        assert.strictEqual(yield* outcome(idp.url, (port) => port.session(mine)), "502 IDP_UNAVAILABLE")
        assert.lengthOf(idp.received, 3)
        idp.received.length = 0
        assert.strictEqual(
          yield* outcome(idp.url, (port) => port.recover(flowId, "a@b.example")),
          "502 IDP_UNAVAILABLE"
        )
        assert.lengthOf(idp.received, 1)
      }
    })
  )

  it.live("is ready when both APIs are", () =>
    Effect.gen(function* () {
      const idp = yield* receiver
      const ready = (adminUrl?: string) => using(idp.url, (port) => port.ready, adminUrl)
      assert.isTrue(yield* ready(idp.url))
      assert.deepStrictEqual(paths(idp).toSorted(), ["/admin/health/ready", "/health/ready"])
      idp.answer = ({ path }) => ({ status: path.startsWith("/admin") ? 503 : 200 })
      assert.isFalse(yield* ready(idp.url))
      idp.answer = ({ path }) => ({ status: path.startsWith("/admin") ? 200 : 503 })
      assert.isFalse(yield* ready(idp.url))
    })
  )

  it.live("sends one credential, and no headers of a browser", () =>
    Effect.gen(function* () {
      const idp = yield* receiver
      idp.answer = () => ({ status: 200, headers: json, body: session })
      yield* using(`${idp.url}/behind/a/proxy`, (port) =>
        Effect.all([port.session(mine), port.session(cookie("MTc=|x=="))])
      )
      const [byToken, byCookie] = idp.received
      assert.strictEqual(byToken?.path, "/behind/a/proxy/sessions/whoami")
      assert.strictEqual(byToken?.headers["x-session-token"], "ory_st_hidden")
      assert.isUndefined(byToken?.headers.cookie)
      assert.strictEqual(byCookie?.headers.cookie, "idp_session=MTc=|x==")
      for (const { headers } of idp.received) {
        assert.strictEqual(headers.accept, "application/json")
        assert.isUndefined(headers.origin)
        assert.isUndefined(headers.authorization)
      }
      assert.isUndefined(byCookie?.headers["x-session-token"])
    })
  )

  it.live("gets a new CSRF pair once when the server rejects the first", () =>
    Effect.gen(function* () {
      const idp = yield* receiver
      const codes = { secrets: [{ context: { secret: "abcdefgh" } }] }
      const nodes = [
        { group: "lookup_secret", attributes: { id: "lookup_secret_codes", text: { text: "", context: codes } } }
      ]
      let pairs = 0
      let refusals = 1
      idp.answer = ({ body, headers, path }) => {
        if (!path.startsWith("/self-service/settings?"))
          return {
            status: 200,
            headers: { ...json, "set-cookie": `csrf_token_ab=pair${++pairs}; Path=/; HttpOnly` },
            body: flow()
          }
        const { csrf_token } = JSON.parse(body.toString()) as { readonly csrf_token: string }
        assert.strictEqual(headers.cookie, `csrf_token_ab=${csrf_token}`)
        return refusals-- > 0
          ? { status: 403, headers: json, body: error(403, "security_csrf_violation") }
          : { status: 200, headers: json, body: flow(nodes) }
      }
      const begun = yield* using(idp.url, (port) => port.beginRecoveryCodes(mine))
      assert.deepStrictEqual(begun.codes, ["abcdefgh"])
      assert.deepStrictEqual(paths(idp), [
        "/self-service/settings/browser",
        "/self-service/settings",
        "/self-service/settings/flows",
        "/self-service/settings"
      ])
      refusals = 2
      assert.strictEqual(yield* outcome(idp.url, (port) => port.beginRecoveryCodes(mine)), "502 IDP_UNAVAILABLE")
    })
  )

  it.live("keeps a key that is the only way to sign in", () =>
    Effect.gen(function* () {
      const idp = yield* receiver
      const key = (value: string, disabled: boolean) => ({
        group: "webauthn",
        attributes: { name: "webauthn_remove", value, disabled }
      })
      idp.answer = () => ({
        status: 200,
        headers: { ...json, "set-cookie": "csrf_token_ab=pair; Path=/" },
        body: flow([key("0a0b", true), key("0c", false)])
      })
      const remove = (id: ReadonlyArray<number>) =>
        outcome(idp.url, (port) => port.removeWebAuthn(mine, new Uint8Array(id)))
      assert.strictEqual(yield* remove([10, 11]), "409 LAST_SIGN_IN_METHOD")
      assert.strictEqual(yield* remove([10]), "404 WEBAUTHN_NOT_FOUND")
      assert.deepStrictEqual(paths(idp), ["/self-service/settings/browser", "/self-service/settings/browser"])
      assert.strictEqual(yield* remove([12]), "ok")
      yield* using(idp.url, (port) => port.removeWebAuthn(mine, undefined))
      const removed = idp
        .at(`/self-service/settings?flow=${flowId}`)
        .map(({ body }) => JSON.parse(body.toString()) as object)
      const sent = { method: "webauthn", webauthn_remove: "0c", csrf_token: "pair" }
      assert.deepStrictEqual(removed, [sent, sent])
    })
  )

  it.live("logs failures without any data that was sent or received", () =>
    Effect.gen(function* () {
      const idp = yield* receiver
      const lines: Array<string> = []
      const logs = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      const secrets = ["ory_st_hidden", "hiddenCookie", "hidden@b.example", "hidden-answer", "hiddenCode"]
      const hidden = { hidden: secrets.join(" ") }
      const answers = [
        { status: 500, headers: json, body: JSON.stringify({ error: { code: 500, ...hidden }, ...hidden }) },
        { status: 200, headers: json, body: JSON.stringify({ id: secrets, ...hidden }) },
        { status: 200, headers: json, body: secrets.join(" ") },
        { reset: true }
      ]
      const calls: ReadonlyArray<(port: Service) => Effect.Effect<unknown, ClientError>> = [
        (port) => port.session(mine),
        (port) => port.session(cookie("hiddenCookie")),
        (port) => port.logout(mine),
        (port) => port.recover(flowId, "hidden@b.example"),
        (port) => port.identities({ pageSize: 1, identifier: "hidden@b.example" }),
        (port) => port.factors(flowId)
      ]
      for (const answer of answers) {
        idp.answer = () => answer
        for (const ask of calls) yield* Effect.provide(outcome(idp.url, ask), logs)
      }
      assert.isAtLeast(lines.length, answers.length * calls.length)
      for (const line of lines) {
        assert.match(line, /^The identity provider failed: (GET|POST|DELETE) \/[\w/-]+: [^\n]+$/)
        assert.isFalse(
          secrets.some((secret) => line.includes(secret)),
          line
        )
      }
    })
  )

  it.live("reads sessions but no identities without the admin address", () =>
    Effect.gen(function* () {
      const idp = yield* receiver
      idp.answer = () => ({ status: 200, headers: json, body: session })
      const alone = <A, E>(use: (port: Service) => Effect.Effect<A, E>) =>
        Effect.provide(
          Effect.flatMap(IdP, use),
          Layer.fresh(layerIdPKratos({ publicUrl: idp.url, adminUrl: undefined }))
        )
      assert.strictEqual((yield* alone((port) => port.session(mine))).session.id, flowId)
      assert.isTrue(yield* alone((port) => port.ready))
      idp.received.length = 0
      const refused = [
        yield* refusal(alone((port) => port.identity(flowId))),
        yield* refusal(alone((port) => port.factors(flowId))),
        yield* refusal(alone((port) => port.identities({ pageSize: 1 })))
      ]
      assert.deepStrictEqual(refused, Array(3).fill("503 NOT_CONFIGURED"))
      assert.lengthOf(idp.received, 0)
    })
  )
})
