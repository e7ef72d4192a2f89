import { Clock, Context, Effect, Layer, Schema, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from "jose"
import { randomBytes } from "node:crypto"
import { Unavailable } from "../../domain/errors.ts"
import { onOwnTables, queryRows } from "../OwnTables.ts"
import { IdentitySeals } from "./Seals.ts"
import { monotonicMillis } from "./RateLimits.ts"

/** A key pair that signs tokens of this service with RS256. */
export interface OwnSigningKey {
  readonly kid: string
  /** The private key with `kid`, `alg` and `use`. */
  readonly jwk: JWK
  /** The public half of the key. */
  readonly publicJwk: JWK
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  /** Whether another key has replaced it for new signatures. */
  readonly retired: boolean
}

const alg = "RS256"

/** The keys are read again after this time, in ms, so that a rotation in another replica reaches this one. */
const freshMillis = 60_000
/** Minimum time between two reads for key ids that are unknown, in ms. */
const pauseMillis = 5_000
/** How long tokens of a retired key are still verified: longer than any token lives. */
const keptSql = "interval '30 days'"

const Stored = Schema.Struct({ kid: Schema.String, jwk: Schema.String, retired: Schema.Boolean })

const notConfigured = new Unavailable({ error: "Identity is turned off (SVC_IDENTITY)", code: "NOT_CONFIGURED" })

/**
 * The keys with which this service signs tokens: those for its own sessions, and those of the embedded OAuth 2.0 server.
 * They are in svc.signing_keys, so all replicas have the same ones; the first is generated when it is first needed.
 */
export class OwnSigningKeys extends Context.Service<
  OwnSigningKeys,
  {
    /** False with SVC_IDENTITY=off: then there are no keys, and nothing can be signed. */
    readonly enabled: boolean
    /** All keys that verify tokens, the one that signs first. */
    readonly all: Effect.Effect<ReadonlyArray<OwnSigningKey>, Unavailable>
    /** A key by its id; undefined if there is none. An unknown id causes a read, but not for every request. */
    readonly find: (kid: string) => Effect.Effect<OwnSigningKey | undefined, Unavailable>
    /** The public keys, for /.well-known/jwks.json. */
    readonly publicSet: Effect.Effect<{ readonly keys: ReadonlyArray<JWK> }, Unavailable>
    /** A JWT with these claims and the header `typ`. */
    readonly sign: (typ: string, claims: JWTPayload) => Effect.Effect<string, Unavailable>
    /** Signs with a new key from now on; the old ones still verify. Returns the new key's id. */
    readonly rotate: Effect.Effect<string, Unavailable>
  }
>()("svc/services/OwnSigningKeys") {
  /** The layer for SVC_IDENTITY=off. */
  static readonly layerNone = Layer.succeed(OwnSigningKeys, {
    enabled: false,
    all: Effect.succeed([]),
    find: () => Effect.undefined,
    publicSet: Effect.succeed({ keys: [] }),
    sign: () => Effect.fail(notConfigured),
    rotate: Effect.fail(notConfigured)
  })

  static readonly layer = Layer.effect(
    OwnSigningKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const seals = yield* IdentitySeals
      const clock = yield* Clock.Clock
      const reading = yield* Semaphore.make(1)
      const rows = queryRows(sql, Stored)
      let cached: { readonly keys: ReadonlyArray<OwnSigningKey>; readonly at: number } | undefined

      const placeOf = (kid: string) => `signing key ${kid}`

      const generate = Effect.gen(function* () {
        const kid = randomBytes(12).toString("base64url")
        const { privateKey } = yield* Effect.promise(() =>
          generateKeyPair(alg, { modulusLength: 2048, extractable: true })
        )
        const jwk: JWK = { ...(yield* Effect.promise(() => exportJWK(privateKey))), kid, alg, use: "sig" }
        return { kid, sealed: yield* seals.seal(placeOf(kid), JSON.stringify(jwk)) }
      })

      const opened = Effect.fnUntraced(function* ({ jwk: sealed, kid, retired }: typeof Stored.Type) {
        const jwk = JSON.parse(yield* seals.unseal(placeOf(kid), sealed)) as JWK
        const { alg, e, kty, n, use } = jwk
        const publicJwk = { alg, e, kid, kty, n, use } as JWK
        const [privateKey, publicKey] = yield* Effect.promise(() =>
          Promise.all([importJWK(jwk) as Promise<CryptoKey>, importJWK(publicJwk) as Promise<CryptoKey>])
        )
        return { kid, jwk, publicJwk, privateKey, publicKey, retired }
      })

      const stored = onOwnTables(
        rows(
          `select kid, jwk, retired_at is not null as retired from svc.signing_keys
           where retired_at is null or retired_at > now() - ${keptSql} order by retired_at desc nulls first, created_at desc`
        )
      )

      /** Adds a key: the first, of which only one replica's is kept, or one that replaces the others. */
      const add = Effect.fnUntraced(function* (replaces: boolean) {
        const { kid, sealed } = yield* generate
        yield* onOwnTables(
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql.unsafe("lock table svc.signing_keys in share row exclusive mode")
              if (replaces) yield* sql.unsafe("update svc.signing_keys set retired_at = now() where retired_at is null")
              yield* sql.unsafe(`delete from svc.signing_keys where retired_at < now() - ${keptSql}`)
              yield* sql.unsafe(
                `insert into svc.signing_keys (kid, jwk)
                 select $1, $2 where not exists (select from svc.signing_keys where retired_at is null)`,
                [kid, sealed]
              )
            })
          )
        )
        return kid
      })

      const read = Effect.gen(function* () {
        let found = yield* stored
        if (found[0] === undefined || found[0].retired) {
          yield* add(false)
          found = yield* stored
        }
        const keys = yield* Effect.forEach(found, opened)
        cached = { keys, at: monotonicMillis(clock) }
        return keys
      })
      const noOlderThan = (millis: number) =>
        Effect.suspend(() =>
          cached !== undefined && monotonicMillis(clock) - cached.at < millis ? Effect.succeed(cached.keys) : read
        )
      const within = (millis: number) => reading.withPermit(noOlderThan(millis))
      const all = Effect.suspend(() =>
        cached !== undefined && monotonicMillis(clock) - cached.at < freshMillis
          ? Effect.succeed(cached.keys)
          : within(freshMillis)
      )

      return OwnSigningKeys.of({
        enabled: true,
        all,
        find: Effect.fnUntraced(function* (kid) {
          const byId = (key: OwnSigningKey) => key.kid === kid
          return (yield* all).find(byId) ?? (yield* within(pauseMillis)).find(byId)
        }),
        // Verifiers fetch the set when it lacks a token's key, which another replica may have just made.
        publicSet: Effect.map(within(pauseMillis), (keys) => ({ keys: keys.map(({ publicJwk }) => publicJwk) })),
        sign: Effect.fn("OwnSigningKeys.sign")(function* (typ, claims) {
          const [key] = yield* all
          if (key === undefined) return yield* Effect.die("There is no signing key")
          return yield* Effect.promise(() =>
            new SignJWT(claims).setProtectedHeader({ alg, kid: key.kid, typ }).sign(key.privateKey)
          )
        }),
        rotate: Effect.flatMap(add(true), (kid) => Effect.as(reading.withPermit(read), kid))
      })
    })
  )
}
