import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { SignJWT } from "jose"
import { JwtSecret, sessionTokenType, Tokens, TokenSettings } from "../../../src/services/access/Tokens.ts"
import { OwnSigningKeys } from "../../../src/services/access/OwnSigningKeys.ts"
import { layerEmbedded, ownUrl } from "../../support/identity/embedded.ts"
import { live, Outside } from "../../support/database.ts"
import { refusal } from "../../support/refusals.ts"

const parts = Layer.provideMerge(
  Tokens.layer.pipe(
    Layer.provide(TokenSettings.layer),
    Layer.provide(Layer.succeed(JwtSecret, { secret: undefined })),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ PUBLIC_URL: ownUrl })))
  ),
  layerEmbedded("signing_keys")
)
const exp = Math.floor(Date.now() / 1000) + 600

layer(parts, live)("the service's own signing keys", (it) => {
  it.effect("are generated once, also by replicas that start together, and are sealed", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const replica = Layer.fresh(OwnSigningKeys.layer)
      const other = yield* Layer.build(replica)
      const keys = yield* OwnSigningKeys
      const both = yield* Effect.all(
        [
          keys.all,
          Effect.provideContext(
            Effect.flatMap(OwnSigningKeys, ({ all }) => all),
            other
          )
        ],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        both.map((all) => all.map(({ kid }) => kid)),
        [[both[0]![0]!.kid], [both[0]![0]!.kid]]
      )
      const [row] = yield* sql("select jwk from svc.signing_keys")
      assert.match(String(row?.["jwk"]), /^1\./)
      assert.deepStrictEqual(
        (yield* keys.publicSet).keys.map((key) => Object.keys(key).toSorted()),
        [["alg", "e", "kid", "kty", "n", "use"]]
      )
    }).pipe(Effect.scoped)
  )

  it.effect("verify tokens of sessions and access tokens for this service, and nothing else", () =>
    Effect.gen(function* () {
      const keys = yield* OwnSigningKeys
      const { verify } = yield* Tokens
      const claims = { sub: "ann", exp }
      const access = { ...claims, client_id: "app", scope: "data" }
      assert.strictEqual((yield* verify(yield* keys.sign(sessionTokenType, claims))).sub, "ann")
      assert.strictEqual((yield* verify(yield* keys.sign("at+jwt", { ...access, aud: ownUrl }))).sub, "ann")
      const refused = (typ: string, claims: object) =>
        Effect.flatMap(keys.sign(typ, claims as never), (token) => refusal(verify(token)))
      assert.strictEqual(yield* refused("at+jwt", { ...access, aud: "https://other.example" }), "401 JWT_AUDIENCE")
      assert.strictEqual(yield* refused("at+jwt", access), "401 JWT_AUDIENCE")
      for (const typ of ["JWT", "id_token", "logout+jwt", "Session+JWT"]) {
        assert.strictEqual(yield* refused(typ, { ...access, aud: ownUrl }), "401 JWT_NOT_ACCESS_TOKEN", typ)
      }
      assert.strictEqual(yield* refused(sessionTokenType, { sub: "ann", exp: exp - 700 }), "401 JWT_EXPIRED")
      const [key] = yield* keys.all
      const secret = new TextEncoder().encode(JSON.stringify(key!.publicJwk))
      const confused = yield* Effect.promise(() =>
        new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: key!.kid, typ: sessionTokenType }).sign(secret)
      )
      assert.strictEqual(yield* refusal(verify(confused)), "401 JWT_INVALID")
      const none = `${Buffer.from(JSON.stringify({ alg: "none", kid: key!.kid })).toString("base64url")}.${confused.split(".")[1]}.`
      assert.strictEqual(yield* refusal(verify(none)), "401 JWT_INVALID")
      const unknown = yield* Effect.promise(() =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: "RS256", kid: "unknown", typ: sessionTokenType })
          .sign(key!.privateKey)
      )
      assert.strictEqual(yield* refusal(verify(unknown)), "401 JWT_INVALID")
    })
  )

  it.effect("rotate: new tokens have the new key, old ones stay valid, in all replicas", () =>
    Effect.gen(function* () {
      const keys = yield* OwnSigningKeys
      const { verify } = yield* Tokens
      const before = yield* keys.sign(sessionTokenType, { sub: "old", exp })
      const other = yield* Layer.build(Layer.fresh(OwnSigningKeys.layer))
      const kid = yield* Effect.provideContext(
        Effect.flatMap(OwnSigningKeys, ({ rotate }) => rotate),
        other
      )
      assert.strictEqual((yield* verify(before)).sub, "old")
      // This replica has read the keys within the last seconds, so it looks again a moment later.
      yield* Effect.sleep("5200 millis")
      assert.strictEqual((yield* keys.find(kid))?.kid, kid)
      assert.strictEqual((yield* keys.all)[0]?.kid, kid)
      assert.lengthOf((yield* keys.publicSet).keys, 2)
      assert.strictEqual((yield* verify(yield* keys.sign(sessionTokenType, { sub: "new", exp }))).sub, "new")
    }).pipe(Effect.scoped)
  )
})
