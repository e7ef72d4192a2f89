import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { exportSPKI, SignJWT, UnsecuredJWT } from "jose"
import { type Tokens } from "../../../src/services/access/Tokens.ts"
import {
  code,
  hs256,
  type Issuer,
  issuer,
  type JwksServer,
  jwksServer,
  noSecret,
  now,
  secret,
  tokens,
  verify
} from "../../support/access/jwts.ts"

describe("Tokens by a published key set", () => {
  const served = <A, E>(
    issuers: ReadonlyArray<Issuer>,
    test: (server: JwksServer) => Effect.Effect<A, E, Tokens>,
    layer: typeof noSecret = tokens
  ) =>
    Effect.gen(function* () {
      const server = yield* jwksServer(issuers.map(({ jwk }) => jwk))
      yield* TestClock.setTime(now * 1000)
      return yield* test(server).pipe(Effect.provide(layer({ SVC_JWKS_URL: server.url })))
    })

  it.effect.each(["RS256", "PS256", "ES256", "ES384", "EdDSA"])("accepts %s", (alg) =>
    Effect.gen(function* () {
      const idp = yield* Effect.promise(() => issuer(alg, "k1"))
      yield* served([idp], (server) =>
        Effect.gen(function* () {
          const token = yield* Effect.promise(() => idp.sign({ sub: "1", exp: now + 60 }))
          assert.strictEqual((yield* verify(token)).sub, "1")
          yield* verify(yield* Effect.promise(() => idp.sign({ sub: "2" })))
          assert.strictEqual(server.requests, 1)
        })
      )
    })
  )

  it.effect("never uses a public key as a secret, nor trusts a key in the token", () =>
    Effect.gen(function* () {
      const idp = yield* Effect.promise(() => issuer("RS256", "k1"))
      const mallory = yield* Effect.promise(() => issuer("RS256", "k1"))
      const pem = yield* Effect.promise(() => exportSPKI(idp.publicKey))
      const forgeries = [
        hs256(`{"sub":"1"}`, { alg: "HS256", kid: "k1" }, pem),
        hs256(`{"sub":"1"}`, { alg: "HS256", kid: "k1" }, idp.jwk.n ?? ""),
        yield* Effect.promise(() => mallory.sign({ sub: "1" })),
        yield* Effect.promise(() => mallory.sign({ sub: "1" }, { jwk: mallory.jwk })),
        yield* Effect.promise(() => mallory.sign({ sub: "1" }, { kid: "none", jku: "http://127.0.0.1:1/keys" })),
        new UnsecuredJWT({ sub: "1" }).encode()
      ]
      const refuseAll = Effect.gen(function* () {
        for (const token of forgeries) assert.strictEqual(yield* code(token), "JWT_INVALID")
      })
      yield* served([idp], () => refuseAll)
      yield* served([idp], () => refuseAll, noSecret)
    })
  )

  it.effect("takes no secret from a published key set", () =>
    Effect.gen(function* () {
      const key = new TextEncoder().encode(secret)
      const server = yield* jwksServer([{ kty: "oct", k: Buffer.from(key).toString("base64url"), kid: "k1" }])
      yield* Effect.gen(function* () {
        const token = yield* Effect.promise(() =>
          new SignJWT({ sub: "1" }).setProtectedHeader({ alg: "HS256", kid: "k1" }).sign(key)
        )
        assert.strictEqual(yield* code(token), "JWT_INVALID")
      }).pipe(Effect.provide(noSecret({ SVC_JWKS_URL: server.url })))
    })
  )

  it.effect("tries all keys of the type when the token has no key id", () =>
    Effect.gen(function* () {
      const [one, two] = yield* Effect.promise(() => Promise.all([issuer("ES256", "k1"), issuer("ES256", "k2")]))
      yield* served([one, two], () =>
        Effect.gen(function* () {
          const token = yield* Effect.promise(() => two.sign({ sub: "2" }, { kid: undefined }))
          assert.strictEqual((yield* verify(token)).sub, "2")
        })
      )
    })
  )

  it.effect("finds a new key, with a pause between fetches, and refuses a removed one within a minute", () =>
    Effect.gen(function* () {
      const [old, next] = yield* Effect.promise(() => Promise.all([issuer("ES256", "k1"), issuer("ES256", "k2")]))
      yield* served([old], (server) =>
        Effect.gen(function* () {
          const oldToken = yield* Effect.promise(() => old.sign({ sub: "1" }))
          const newToken = yield* Effect.promise(() => next.sign({ sub: "2" }))
          yield* verify(oldToken)
          server.answer.body = { keys: [next.jwk] }
          for (let n = 0; n < 10; n++) assert.strictEqual(yield* code(newToken), "JWT_INVALID")
          assert.strictEqual(server.requests, 1)
          yield* TestClock.adjust("5 seconds")
          yield* verify(newToken)
          assert.strictEqual(server.requests, 2)
          yield* verify(oldToken)
          yield* TestClock.adjust("55 seconds")
          assert.strictEqual(yield* code(oldToken), "JWT_INVALID")
        })
      )
    })
  )

  it.effect("returns 503 while the keys are unavailable, and keeps using those it has", () =>
    Effect.gen(function* () {
      const [idp, next] = yield* Effect.promise(() => Promise.all([issuer("ES256", "k1"), issuer("ES256", "k2")]))
      yield* served([idp], (server) =>
        Effect.gen(function* () {
          const token = yield* Effect.promise(() => idp.sign({ sub: "1" }))
          const newToken = yield* Effect.promise(() => next.sign({ sub: "2" }))
          const down = { status: 500, body: "" }
          const up = server.answer
          server.answer = down
          assert.strictEqual(yield* code(token), "JWKS_UNAVAILABLE")
          assert.strictEqual(yield* code(hs256("{}", { alg: "HS256" }, "x")), "JWT_INVALID")
          server.answer = up
          yield* TestClock.adjust("5 seconds")
          yield* verify(token)
          server.answer = down
          yield* TestClock.adjust("2 minutes")
          yield* verify(token)
          assert.strictEqual(yield* code(newToken), "JWKS_UNAVAILABLE")
          yield* TestClock.adjust("8 minutes")
          assert.strictEqual(yield* code(token), "JWKS_UNAVAILABLE")
          server.answer = { status: 200, body: { keys: "none" } }
          yield* TestClock.adjust("5 seconds")
          assert.strictEqual(yield* code(token), "JWKS_UNAVAILABLE")
          server.answer = up
          yield* TestClock.adjust("5 seconds")
          yield* verify(token)
        })
      )
    })
  )

  it.effect("fetches once for concurrent tokens, from the OAuth 2.0 server by default", () =>
    Effect.gen(function* () {
      const idp = yield* Effect.promise(() => issuer("EdDSA", "k1"))
      const server = yield* jwksServer([idp.jwk])
      yield* Effect.gen(function* () {
        const all = yield* Effect.promise(() =>
          Promise.all(Array.from({ length: 20 }, (_, n) => idp.sign({ sub: String(n), client_id: "shop", scp: [] })))
        )
        const claims = yield* Effect.forEach(all, verify, { concurrency: "unbounded" })
        assert.deepStrictEqual(
          claims.map(({ sub }) => Number(sub)),
          [...all.keys()]
        )
        assert.strictEqual(server.requests, 1)
      }).pipe(Effect.provide(tokens({ OAUTH2_PUBLIC_URL: new URL("/", server.url).href })))
    })
  )
})
