import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type JWTPayload } from "jose"
import { type Tokens } from "../../../src/services/access/Tokens.ts"
import { code, hs256, type Issuer, issuer, jwksServer, now, tokens, verify } from "../../support/access/jwts.ts"

/** As Ory Hydra signs them. */
const idToken = {
  iss: "http://127.0.0.1:4444",
  sub: "ada",
  aud: ["shop"],
  auth_time: now,
  at_hash: "x",
  nonce: "n",
  sid: "s",
  exp: now + 60
}
const accessToken = { iss: "http://127.0.0.1:4444", sub: "ada", aud: [], client_id: "shop", scp: [], exp: now + 60 }

const served = <A, E>(
  test: (
    sign: (payload: JWTPayload, header?: Parameters<Issuer["sign"]>[1]) => Effect.Effect<string>
  ) => Effect.Effect<A, E, Tokens>,
  env: Record<string, string> | ((url: string) => Record<string, string>) = {}
) =>
  Effect.gen(function* () {
    const server = yield* Effect.promise(() => issuer("RS256", "k1"))
    const { url } = yield* jwksServer([server.jwk])
    yield* TestClock.setTime(now * 1000)
    const sign = (payload: JWTPayload, header?: Parameters<Issuer["sign"]>[1]) =>
      Effect.promise(() => server.sign(payload, header))
    const more = typeof env === "function" ? env(url) : env
    return yield* test(sign).pipe(Effect.provide(tokens({ OAUTH2_PUBLIC_URL: new URL(url).origin, ...more })))
  })

describe("tokens of the OAuth 2.0 server", () => {
  it.effect("are refused unless they are access tokens", () =>
    served((sign) =>
      Effect.gen(function* () {
        for (const payload of [
          idToken,
          { ...idToken, client_id: "shop" },
          { ...idToken, scp: ["openid"] },
          { ...accessToken, client_id: "" },
          { ...accessToken, client_id: 7 },
          { ...accessToken, scp: null }
        ]) {
          assert.strictEqual(yield* code(yield* sign(payload as JWTPayload)), "JWT_NOT_ACCESS_TOKEN")
        }
        assert.strictEqual(yield* code(yield* sign(idToken, { typ: "JWT" })), "JWT_NOT_ACCESS_TOKEN")
        assert.strictEqual(yield* code(yield* sign(accessToken, { typ: "logout+jwt" })), "JWT_NOT_ACCESS_TOKEN")
        assert.strictEqual(yield* code(yield* sign(accessToken, { typ: 7 })), "JWT_NOT_ACCESS_TOKEN")
        const error = yield* Effect.flip(verify(yield* sign(idToken)))
        assert.match(error.error, /not an access token/)
      })
    )
  )

  it.effect("are accepted in the forms of access tokens", () =>
    served((sign) =>
      Effect.gen(function* () {
        const { scp: _, ...other } = accessToken
        assert.strictEqual((yield* verify(yield* sign(accessToken))).sub, "ada")
        yield* verify(yield* sign(accessToken, { typ: "JWT" }))
        yield* verify(yield* sign({ ...accessToken, scp: "openid email" }))
        yield* verify(yield* sign({ ...other, scope: "openid email" }))
        yield* verify(yield* sign({ sub: "ada" }, { typ: "at+jwt" }))
        yield* verify(yield* sign({ sub: "ada" }, { typ: "application/AT+JWT" }))
      })
    )
  )

  it.effect("are recognised by the address of their keys", () =>
    served(
      (sign) =>
        Effect.gen(function* () {
          assert.strictEqual(yield* code(yield* sign(idToken)), "JWT_NOT_ACCESS_TOKEN")
        }),
      (url) => ({ SVC_JWKS_URL: url })
    )
  )

  it.effect("of another issuer may be of any kind", () =>
    served(
      (sign) =>
        Effect.gen(function* () {
          assert.strictEqual((yield* verify(yield* sign(idToken))).sub, "ada")
        }),
      (url) => ({ SVC_JWKS_URL: `${url}?other` })
    )
  )

  it.effect("need one of the configured scopes; those of the secret do not", () =>
    served(
      (sign) =>
        Effect.gen(function* () {
          const { scp: _, ...other } = accessToken
          for (const payload of [
            accessToken,
            { ...accessToken, scp: ["openid", "dat", "data2"] },
            { ...accessToken, scp: ["openid data"] },
            { ...other, scope: "openid,data" }
          ]) {
            assert.strictEqual(yield* code(yield* sign(payload)), "JWT_SCOPE")
          }
          yield* verify(yield* sign({ ...accessToken, scp: ["openid", "data"] }))
          yield* verify(yield* sign({ ...accessToken, scp: "openid rows" }))
          yield* verify(yield* sign({ ...other, scope: "data" }))
          yield* verify(hs256(`{"sub":"1"}`))
          assert.strictEqual(yield* code(yield* sign({ ...idToken, scope: "data" })), "JWT_NOT_ACCESS_TOKEN")
        }),
      { SVC_JWT_SCOPE: "data, rows" }
    )
  )
})
