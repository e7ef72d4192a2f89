import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { UnsecuredJWT } from "jose"
import { Unauthorized } from "../../../src/domain/errors.ts"
import { Tokens } from "../../../src/services/access/Tokens.ts"
import { base64url, code, hs256, noSecret, now, secret, tokens, verify } from "../../support/access/jwts.ts"

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.andThen(TestClock.setTime(now * 1000), effect)

/** Whether a token is verified synchronously. */
const isVerified = (service: Tokens["Service"], token: string) =>
  Effect.runSyncExit(service.verify(token))._tag === "Success"

describe("Tokens", () => {
  it.effect("returns the payload exactly as it was signed", () =>
    Effect.gen(function* () {
      const payload = `{ "sub":"é-1",  "n": 12345678901234567890, "role":"service_role" }`
      assert.deepStrictEqual(yield* verify(hs256(payload)), { claims: payload, sub: "é-1", exp: undefined })
      assert.deepStrictEqual(yield* verify(hs256("{}")), { claims: "{}", sub: "", exp: undefined })
    }).pipe(Effect.provide(tokens({})))
  )

  it.effect.each<readonly [string, string, string]>([
    ["another secret", hs256(`{"sub":"1"}`, { alg: "HS256" }, "another secret that is also long"), "JWT_INVALID"],
    ["no signature", hs256(`{"sub":"1"}`).replace(/[^.]*$/, ""), "JWT_INVALID"],
    ["alg none", new UnsecuredJWT({ sub: "1" }).encode(), "JWT_INVALID"],
    ["alg None, signed", hs256(`{"sub":"1"}`, { alg: "None" }), "JWT_INVALID"],
    ["no alg", hs256(`{"sub":"1"}`, { typ: "JWT" }), "JWT_INVALID"],
    ["an asymmetric alg without a key set", hs256(`{"sub":"1"}`, { alg: "RS256" }), "JWT_INVALID"],
    ["a key in its own header", hs256("{}", { alg: "HS256", jwk: { kty: "oct", k: "AAAA" } }, "\0\0\0"), "JWT_INVALID"],
    ["a critical extension", hs256("{}", { alg: "HS256", crit: ["exp"], exp: 1 }), "JWT_INVALID"],
    ["an unencoded payload", hs256("{}", { alg: "HS256", crit: ["b64"], b64: false }), "JWT_INVALID"],
    ["not a JWT", "hello", "JWT_INVALID"],
    ["empty", "", "JWT_INVALID"],
    ["five parts", `${hs256("{}")}.a.b`, "JWT_INVALID"],
    ["a payload that is an array", hs256(`[1]`), "JWT_INVALID"],
    ["a payload that is null", hs256(`null`), "JWT_INVALID"],
    ["a payload that is text", hs256(`hello`), "JWT_INVALID"],
    ["a sub that is a number", hs256(`{"sub":1}`), "JWT_INVALID"],
    ["a sub that is null", hs256(`{"sub":null}`), "JWT_INVALID"],
    ["half a surrogate pair", hs256(String.raw`{"sub":"\ud800"}`), "JWT_INVALID"],
    ["a NUL", hs256(String.raw`{"sub":"a\u0000"}`), "JWT_INVALID"],
    ["a NUL after a backslash", hs256(String.raw`{"a":"\\\u0000"}`), "JWT_INVALID"],
    ["exp that is text", hs256(`{"exp":"${now + 60}"}`), "JWT_INVALID"],
    ["over 8 KiB", hs256(JSON.stringify({ sub: "1", pad: "x".repeat(8000) })), "JWT_INVALID"],
    ["expired", hs256(`{"exp":${now - 30}}`), "JWT_EXPIRED"],
    ["not yet valid", hs256(`{"nbf":${now + 31}}`), "JWT_NOT_YET_VALID"]
  ])("refuses: %s", ([, token, expected]) =>
    at(
      Effect.gen(function* () {
        const error = yield* Effect.flip(verify(token))
        assert.instanceOf(error, Unauthorized)
        assert.strictEqual(error.code, expected)
        assert.notInclude(error.error, secret)
      })
    ).pipe(Effect.provide(tokens({})))
  )

  it.effect("accepts tokens of previous secrets while clients get new ones", () => {
    const [before, first] = ["the secret before that is long enough", "the first secret that was long enough"]
    return Effect.gen(function* () {
      for (const key of [secret, before, first]) {
        assert.strictEqual((yield* verify(hs256(`{"sub":"1"}`, undefined, key))).sub, "1")
      }
      const other = hs256(`{"sub":"1"}`, undefined, "a secret that was never one of these")
      assert.strictEqual(yield* code(other), "JWT_INVALID")
    }).pipe(Effect.provide(tokens({ SVC_JWT_SECRETS_OLD: `${before}, ${first}` })))
  })

  it.effect.each([
    [{ SVC_JWT_SECRETS_OLD: "short" }, tokens, /SVC_JWT_SECRETS_OLD must be at least 32 bytes/],
    [{ SVC_JWT_SECRETS_OLD: secret }, noSecret, /SVC_JWT_SECRETS_OLD requires SVC_JWT_SECRET/]
  ] as const)("refuses to start with %j", ([env, layer, message]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Layer.build(layer(env)))
      assert.match(error.message, message)
      assert.notInclude(error.message, secret)
    }).pipe(Effect.scoped)
  )

  it.effect("distinguishes an escaped backslash before u0000", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* verify(hs256(String.raw`{"sub":"\\u0000"}`))).sub, String.raw`\u0000`)
    }).pipe(Effect.provide(tokens({})))
  )

  it.effect("tolerates 30 seconds between clocks, and drops a cached token when it expires", () =>
    at(
      Effect.gen(function* () {
        const token = hs256(`{"sub":"1","exp":${now - 29},"nbf":${now + 30}}`)
        assert.strictEqual((yield* verify(token)).exp, now - 29)
        yield* TestClock.adjust("999 millis")
        yield* verify(token)
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(yield* code(token), "JWT_EXPIRED")
      })
    ).pipe(Effect.provide(tokens({})))
  )

  it.effect("verifies cached tokens synchronously", () =>
    Effect.gen(function* () {
      const service = yield* Tokens
      const token = hs256(`{"sub":"1"}`)
      assert.isFalse(isVerified(service, token))
      yield* verify(token)
      assert.isTrue(isVerified(service, token))
    }).pipe(Effect.provide(tokens({})))
  )

  it.effect("caches a limited number of tokens, the most recently used ones", () =>
    Effect.gen(function* () {
      const service = yield* Tokens
      const used = hs256(`{"sub":"used"}`)
      const unused = hs256(`{"sub":"unused"}`)
      yield* verify(used)
      yield* verify(unused)
      for (let n = 0; n < 11_000; n++) {
        yield* verify(hs256(`{"sub":"${n}"}`))
        if (n % 1000 === 0) assert.isTrue(isVerified(service, used))
      }
      assert.isTrue(isVerified(service, used))
      assert.isFalse(isVerified(service, unused))
    }).pipe(Effect.provide(tokens({})))
  )

  it.effect("requires one of the configured audiences", () =>
    Effect.gen(function* () {
      yield* verify(hs256(`{"aud":"web"}`))
      yield* verify(hs256(`{"aud":["other","app"]}`))
      for (const payload of [`{}`, `{"aud":"other"}`, `{"aud":[]}`, `{"aud":"we"}`]) {
        assert.strictEqual(yield* code(hs256(payload)), "JWT_AUDIENCE")
      }
    }).pipe(Effect.provide(tokens({ SVC_JWT_AUDIENCE: "web, app" })))
  )

  it.effect("refuses a short secret and an invalid URL at the start", () =>
    Effect.gen(function* () {
      const start = (layer: ReturnType<typeof tokens>) => Effect.flip(Effect.scoped(Layer.build(layer)))
      assert.match((yield* start(tokens({}, "short"))).message, /^SVC_JWT_SECRET must be at least 32 bytes/)
      assert.match((yield* start(tokens({ SVC_JWKS_URL: "file:///keys" }))).message, /^SVC_JWKS_URL must be/)
      assert.match((yield* start(tokens({ OAUTH2_PUBLIC_URL: "idp" }))).message, /^OAUTH2_PUBLIC_URL must be/)
    })
  )

  it.effect("refuses all tokens when nothing is configured", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* code(hs256(`{"sub":"1"}`)), "JWT_NOT_CONFIGURED")
    }).pipe(Effect.provide(noSecret({})))
  )

  it.effect("skips verification if configured, with a warning, but not expiry", () => {
    const logged: Array<string> = []
    const logger = Logger.make(({ message }) => void logged.push(String(message)))
    return at(
      Effect.gen(function* () {
        assert.match(logged.join(), /SVC_JWT_INSECURE_DECODE/)
        assert.strictEqual((yield* verify(new UnsecuredJWT({ sub: "1" }).encode())).sub, "1")
        assert.strictEqual((yield* verify(hs256(`{"sub":"2"}`, undefined, "whoever"))).sub, "2")
        assert.strictEqual(yield* code(hs256(`{"exp":${now - 31}}`)), "JWT_EXPIRED")
        assert.strictEqual(yield* code(hs256(`"text"`)), "JWT_INVALID")
        assert.strictEqual(yield* code(`${base64url("{}")}.${base64url("{}")}`), "JWT_INVALID")
        assert.strictEqual(yield* code("hello"), "JWT_INVALID")
      })
    ).pipe(
      Effect.provide(noSecret({ SVC_JWT_INSECURE_DECODE: "true" }).pipe(Layer.provideMerge(Logger.layer([logger]))))
    )
  })
})
