import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { type ErrorCode } from "../../../src/domain/codes/ErrorCode.ts"
import { BadGateway, StepUpRequired, TooManyRequests, Unauthorized } from "../../../src/domain/errors.ts"
import { type Credential, type IdentitySession, type Browser } from "../../../src/domain/identity/Identity.ts"
import { makeAttemptLimit, makeFailureLimit } from "../../../src/services/identity/AttemptLimits.ts"
import { SlidingWindow } from "../../../src/domain/access/SlidingWindow.ts"
import { IdentitySettings } from "../../../src/services/identity/Settings.ts"
import { IdP, type SessionError } from "../../../src/services/ports/IdP.ts"
import { Sessions } from "../../../src/services/identity/Sessions.ts"

const id = "0b8c7a1e-5e0e-4c3b-9a55-6f3a4a1d2c11"
const session = (more: Partial<IdentitySession> = {}): IdentitySession => ({
  id: "s1",
  identity: {
    id,
    state: "active",
    schema_id: "default",
    traits: {},
    metadata_public: {},
    addresses: [],
    created_at: null,
    updated_at: null
  },
  aal: "aal1",
  methods: ["password"],
  authenticated_at: "1970-01-01T00:00:00Z",
  issued_at: "1970-01-01T00:00:00Z",
  expires_at: "1970-01-02T00:00:00Z",
  ...more
})

const credential = (_tag: Credential["_tag"], value: string): Credential => ({ _tag, value: Redacted.make(value) })
const browser = (...credentials: ReadonlyArray<Credential>): Browser => ({ credentials, returnTo: undefined })
const [token, cookie] = [credential("Token", "t"), credential("Cookie", "c")]
const stale = new Unauthorized({ error: "The session has expired", code: "UNAUTHENTICATED" })

/** A fake identity provider that records its calls. */
const idp = (
  answer: (value: string) => Effect.Effect<IdentitySession, SessionError>,
  settings: Record<string, string> = {}
) => {
  const calls: Array<string> = []
  const layer = Sessions.layer.pipe(
    Layer.provide([
      Layer.mock(IdP, {
        configured: true,
        session: ({ _tag, value }) =>
          Effect.suspend(() => {
            calls.push(`${_tag} ${Redacted.value(value)}`)
            return Effect.map(answer(Redacted.value(value)), (session) => ({ session, cookies: ["idp_session=new"] }))
          }),
        loginUrl: (options) => Effect.succeed(`https://id.example/login?${JSON.stringify(options)}`)
      }),
      IdentitySettings.layer
    ]),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ SVC_ADMIN_IDENTITIES: id, ...settings })))
  )
  return { calls, layer }
}

describe("Sessions", () => {
  it.effect("caches a session for 1 s by its credential, and returns its cookies once", () => {
    const { calls, layer } = idp(() => Effect.succeed(session()))
    return Effect.gen(function* () {
      const { current } = yield* Sessions
      const first = yield* current(browser(token))
      assert.isTrue(first.admin)
      assert.deepStrictEqual(first.cookies, ["idp_session=new"])
      assert.deepStrictEqual((yield* current(browser(token))).cookies, [])
      yield* current(browser(credential("Cookie", "t")))
      assert.deepStrictEqual(calls, ["Token t", "Cookie t"])
      yield* TestClock.adjust("1 second")
      yield* current(browser(token))
      assert.lengthOf(calls, 3)
    }).pipe(Effect.provide(layer))
  })

  it.effect("caches it no longer than it is valid, nor after an invalidation", () => {
    const { calls, layer } = idp((value) =>
      Effect.succeed(session(value === "t" ? { expires_at: "1970-01-01T00:00:00.500Z" } : {}))
    )
    return Effect.gen(function* () {
      const { current, invalidate } = yield* Sessions
      yield* current(browser(token))
      yield* TestClock.adjust("500 millis")
      yield* current(browser(token))
      assert.lengthOf(calls, 2)
      // All sessions of the same identity: they may have changed.
      yield* current(browser(cookie))
      yield* current(browser(credential("Cookie", "other")))
      yield* invalidate(cookie)
      yield* current(browser(credential("Cookie", "other")))
      assert.lengthOf(calls, 5)
    }).pipe(Effect.provide(layer))
  })

  it.effect("caches it for 1 s from the question, which another replica's sign-out may have followed", () => {
    const { calls, layer } = idp(() => Effect.as(Effect.sleep("600 millis"), session()))
    return Effect.gen(function* () {
      const { current } = yield* Sessions
      for (const looked of [1, 1, 2]) {
        const asking = yield* Effect.forkChild(current(browser(token)), { startImmediately: true })
        yield* TestClock.adjust("600 millis")
        yield* Fiber.join(asking)
        assert.lengthOf(calls, looked)
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect("does not cache a look-up that began before an invalidation", () => {
    const { calls, layer } = idp(() => Effect.as(Effect.sleep("1 second"), session()))
    return Effect.gen(function* () {
      const { current, invalidate } = yield* Sessions
      const waiting = yield* Effect.forkChild(current(browser(token)), { startImmediately: true })
      yield* TestClock.adjust("500 millis")
      yield* invalidate(token)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(waiting)
      const again = yield* Effect.forkChild(current(browser(token)), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(again)
      assert.lengthOf(calls, 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("shares one look-up among waiting requests, even if the first is interrupted", () => {
    const { calls, layer } = idp(() => Effect.as(Effect.sleep("1 second"), session()))
    return Effect.gen(function* () {
      const { current } = yield* Sessions
      const all = yield* Effect.forEach(Array.from({ length: 20 }), () =>
        Effect.forkChild(current(browser(token)), { startImmediately: true })
      )
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interrupt(all[0]!)
      yield* TestClock.adjust("1 second")
      const got = yield* Effect.forEach(all.slice(1), Fiber.join)
      assert.lengthOf(calls, 1)
      assert.isTrue(got.every(({ id }) => id === "s1"))
    }).pipe(Effect.provide(layer))
  })

  it.effect("tries the cookie after a stale token, but not after any other failure", () => {
    const down = new BadGateway({ error: "down", code: "IDP_UNAVAILABLE" })
    const { calls, layer } = idp((value) =>
      value === "t" ? Effect.fail(stale) : value === "down" ? Effect.fail(down) : Effect.succeed(session())
    )
    return Effect.gen(function* () {
      const { current, optional } = yield* Sessions
      assert.strictEqual((yield* current(browser(token, cookie))).credential, cookie)
      assert.deepStrictEqual(calls, ["Token t", "Cookie c"])
      assert.strictEqual(yield* Effect.flip(current(browser(credential("Token", "down"), cookie))), down)
      assert.strictEqual(yield* Effect.flip(current(browser(token))), stale)
      assert.isUndefined(yield* optional(browser(token)))
      calls.length = 0
      assert.strictEqual((yield* Effect.flip(current(browser()))).code, "UNAUTHENTICATED")
      assert.isUndefined(yield* optional(browser()))
      assert.deepStrictEqual(calls, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect.each([
    ["true", ["Token t", "Cookie c"]],
    ["false", []]
  ] as const)("SVC_AUTH_REQUIRED %s: verifies the session before a call", ([required, expected]) => {
    const { calls, layer } = idp(() => Effect.succeed(session()), { SVC_AUTH_REQUIRED: required })
    return Effect.gen(function* () {
      const { withCredential } = yield* Sessions
      const used: Array<string> = []
      const use = ({ _tag }: Credential) => {
        used.push(_tag)
        return _tag === "Token" ? Effect.fail(stale) : Effect.succeed("done")
      }
      const { value } = yield* withCredential(browser(token, cookie), use)
      assert.deepStrictEqual(calls, [...expected])
      assert.deepStrictEqual(used, ["Token", "Cookie"])
      assert.strictEqual(value, "done")
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuses an inactive identity", () => {
    const { layer } = idp(() => Effect.succeed(session({ identity: { ...session().identity, state: "inactive" } })))
    return Effect.gen(function* () {
      const { current } = yield* Sessions
      assert.strictEqual((yield* Effect.flip(current(browser(token)))).code, "UNAUTHENTICATED")
    }).pipe(Effect.provide(layer))
  })

  describe("a step-up", () => {
    const owes = (code: ErrorCode) => new StepUpRequired({ error: "more", code, redirect_to: "upstream" })
    const other = session({ identity: { ...session().identity, id: "5b1f6a3e-0000-4000-8000-000000000000" } })
    /** Sessions by the value of their credential. */
    const sessions = (value: string) =>
      value === "owes"
        ? Effect.fail(owes("aal2_required"))
        : value === "stale"
          ? Effect.fail(stale)
          : Effect.succeed(value === "other" ? other : session())
    const redirect = <A, E>(effect: Effect.Effect<A, E>) =>
      Effect.map(Effect.flip(effect), (error) =>
        error instanceof StepUpRequired ? JSON.parse((error.redirect_to ?? "").split("?")[1] ?? "") : error
      )

    it.effect("in the provider's cookie redirects to the missing factor or sign-in, and back", () =>
      Effect.gen(function* () {
        const { current, optional, withSession } = yield* Sessions
        const weak = { credentials: [credential("Cookie", "owes")], returnTo: "https://d.example" }
        assert.deepStrictEqual(yield* redirect(current(weak)), { returnTo: "https://d.example", aal: "aal2" })
        assert.deepStrictEqual(yield* redirect(optional(weak)), { returnTo: "https://d.example", aal: "aal2" })
        const old = withSession(browser(cookie), () => Effect.fail(owes("reauthentication_required")))
        assert.deepStrictEqual(yield* redirect(old), { refresh: true })
      }).pipe(Effect.provide(idp(sessions).layer))
    )

    it.effect("of a token redirects to a sign-in, because the provider's pages know their cookie only", () =>
      Effect.gen(function* () {
        const { current } = yield* Sessions
        const weak = (...more: ReadonlyArray<Credential>) =>
          redirect(current({ credentials: [credential("Token", "owes"), ...more], returnTo: "https://d.example" }))
        assert.deepStrictEqual(yield* weak(), { returnTo: "https://d.example" })
        assert.deepStrictEqual(yield* weak(credential("Cookie", "stale")), { returnTo: "https://d.example" })
        const both = { returnTo: "https://d.example", aal: "aal2" }
        assert.deepStrictEqual(yield* weak(credential("Cookie", "owes")), both)
      }).pipe(Effect.provide(idp(sessions).layer))
    )

    it.effect("is not needed when the next credential of the same user is strong enough", () =>
      Effect.gen(function* () {
        const { current, withCredential, withSession } = yield* Sessions
        const [weak, strong] = [credential("Token", "owes"), credential("Cookie", "c")]
        assert.strictEqual((yield* current(browser(weak, strong))).credential, strong)
        const oldToken = ({ _tag }: Credential) =>
          _tag === "Token" ? Effect.fail(owes("reauthentication_required")) : Effect.succeed("done")
        const used = yield* withSession(browser(token, strong), ({ credential }) => oldToken(credential))
        assert.deepStrictEqual([used.value, used.session.credential], ["done", strong])
        assert.strictEqual((yield* withCredential(browser(token, strong), oldToken)).value, "done")
        // Of another user.
        const two = browser(token, credential("Cookie", "other"))
        assert.deepStrictEqual(yield* redirect(withSession(two, ({ credential }) => oldToken(credential))), {
          refresh: true
        })
        assert.deepStrictEqual(yield* redirect(withCredential(two, oldToken)), { refresh: true })
      }).pipe(Effect.provide(idp(sessions).layer))
    )
  })
})

describe("makeAttemptLimit", () => {
  it.effect("allows ten attempts a minute, for each client", () =>
    Effect.gen(function* () {
      const limitAttempts = makeAttemptLimit(new SlidingWindow())
      for (let i = 0; i < 10; i++) yield* limitAttempts("s1")
      const refused = yield* Effect.flip(limitAttempts("s1"))
      assert.instanceOf(refused, TooManyRequests)
      assert.deepInclude(refused, { code: "TOO_MANY_GUESSES", retry_after: 60 })
      yield* limitAttempts("s2")
      yield* makeAttemptLimit(new SlidingWindow())("s1")
      yield* TestClock.adjust("1 minute")
      yield* limitAttempts("s1")
    })
  )
})

describe("makeFailureLimit", () => {
  it.effect("counts failures only, and refuses further attempts after ten in a minute", () =>
    Effect.gen(function* () {
      const limit = makeFailureLimit(new SlidingWindow())
      const down = new BadGateway({ error: "down" })
      for (let i = 0; i < 30; i++) {
        assert.strictEqual(yield* limit("a", Effect.succeed("in")), "in")
        assert.strictEqual(yield* Effect.flip(limit("a", Effect.fail(down))), down)
      }
      for (let i = 0; i < 10; i++) {
        assert.strictEqual(yield* Effect.flip(limit("a", Effect.fail(stale))), stale)
        yield* TestClock.adjust("1 second")
      }
      const refused = yield* Effect.flip(limit("a", Effect.succeed("in")))
      assert.deepInclude(refused, { code: "TOO_MANY_GUESSES", retry_after: 50 })
      assert.strictEqual(yield* limit("b", Effect.succeed("in")), "in")
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual(yield* limit("a", Effect.succeed("in")), "in")
    })
  )
})
