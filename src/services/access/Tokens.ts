import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { base64url, compactVerify, decodeProtectedHeader } from "jose"
import { LRUCache } from "lru-cache"
import { flag, list, secret as secretText, SettingError, text, url } from "../../domain/Settings.ts"
import { type ErrorCode } from "../../domain/codes/ErrorCode.ts"
import { Unauthorized, Unavailable } from "../../domain/errors.ts"
import { type JwtClaims, leewaySeconds, readClaims, type TokenRules } from "../../domain/access/JwtClaims.ts"
import { OwnSigningKeys } from "./OwnSigningKeys.ts"
import { ownUrl } from "../OwnUrl.ts"
import { KeysUnreachable, publicKeyAlgorithms, SigningKeys } from "./SigningKeys.ts"

/** The secret of HS256 tokens; undefined: they are refused. From SVC_JWT_SECRET, or generated in embedded mode. */
export class JwtSecret extends Context.Service<JwtSecret, { readonly secret: Redacted.Redacted<string> | undefined }>()(
  "svc/services/JwtSecret"
) {}

/** The header `typ` of tokens that a person's session is exchanged for. Only this service can sign it. */
export const sessionTokenType = "session+jwt"

/** Maximum length of a token, in characters. */
const maxTokenLength = 8192

interface Verified {
  readonly claims: JwtClaims
  /** How long the claims are valid, in milliseconds since 1970. */
  readonly until: number
}

const refused = (error: string, code: ErrorCode = "JWT_INVALID") => new Unauthorized({ error, code })
/** One message covers every fault of a signature, so that a forger gets no hint. */
const forged = refused("The JWT is malformed, or not signed with a key that this service trusts")
const unreachable = new Unavailable({
  error: "The keys to verify JWTs are currently unavailable; retry later",
  code: "JWKS_UNAVAILABLE",
  retry_after: 5
})

export const jwtAudiences = list("SVC_JWT_AUDIENCE", [])

/** The settings of tokens, read before the service starts anything. */
export class TokenSettings extends Context.Service<
  TokenSettings,
  {
    readonly insecure: boolean
    readonly audiences: ReadonlyArray<string>
    readonly scopes: ReadonlyArray<string>
    readonly secrets: Effect.Success<ReturnType<typeof importSecrets>>
    readonly address: Effect.Success<typeof keysAddress>
    /** `ownUrl`. */
    readonly own: string
  }
>()("svc/services/TokenSettings") {
  static readonly layer: Layer.Layer<TokenSettings, SettingError, JwtSecret> = Layer.effect(
    TokenSettings,
    Effect.gen(function* () {
      return TokenSettings.of({
        insecure: yield* flag("SVC_JWT_INSECURE_DECODE", false),
        audiences: yield* jwtAudiences,
        scopes: yield* list("SVC_JWT_SCOPE", []),
        secrets: yield* importSecrets((yield* JwtSecret).secret),
        address: yield* keysAddress,
        own: yield* ownUrl
      })
    })
  )
}

/** Verifies JWTs and reads their claims. */
export class Tokens extends Context.Service<
  Tokens,
  {
    /**
     * The claims of a token (the text after `Bearer `). Tokens verified before are answered from memory, synchronously.
     * A `role` claim has no effect: every valid token is `authenticated`.
     */
    readonly verify: (token: string) => Effect.Effect<JwtClaims, Unauthorized | Unavailable>
    /** SVC_JWT_SCOPE: the scopes with which an access token gives access to a user's rows. */
    readonly scopes: ReadonlyArray<string>
  }
>()("svc/services/Tokens") {
  static readonly layer: Layer.Layer<Tokens, never, TokenSettings | OwnSigningKeys> = Layer.effect(
    Tokens,
    Effect.gen(function* () {
      const { address, audiences, insecure, own: ownAddress, scopes, secrets } = yield* TokenSettings
      const clock = yield* Clock.Clock
      const keys = address && new SigningKeys(address.url, () => clock.currentTimeMillisUnsafe())
      const byDefault: TokenRules = { audiences, scopes: [], accessTokensOnly: false }
      const byKeys: TokenRules = {
        audiences,
        scopes,
        accessTokensOnly: address?.ofOAuth2 === true
      }
      const own = yield* OwnSigningKeys
      /**
       * The rules for access tokens that the embedded OAuth 2.0 server issues to apps; its ID tokens have the same
       * keys.
       */
      const byOwnServer: TokenRules = {
        audiences: [ownAddress, ...audiences],
        scopes: byKeys.scopes,
        accessTokensOnly: true
      }
      if (insecure) {
        yield* Effect.logWarning(
          "SVC_JWT_INSECURE_DECODE is true: JWT signatures are NOT verified, and any client can act as any user. Never use this in production."
        )
      }

      const fromKeys = Effect.fnUntraced(function* (keys: SigningKeys, token: string) {
        const verified = yield* Effect.result(
          Effect.tryPromise({
            try: () => keys.verify(token),
            catch: (error) => (error instanceof KeysUnreachable ? unreachable : forged)
          })
        )
        const failure = keys.takeFailure()
        if (failure !== undefined)
          yield* Effect.logWarning(`Failed to fetch JWT keys from ${address?.url.href}`, failure)
        return { ...(yield* Effect.fromResult(verified)), rules: byKeys }
      })

      /** A token that this service has signed: for one of its sessions, or as an access token for an app. */
      const fromOwn = Effect.fnUntraced(function* (token: string, kid: string, typ: unknown) {
        const key = yield* own.find(kid)
        if (key === undefined) return undefined
        const { payload } = yield* Effect.tryPromise({
          try: () => compactVerify(token, key.publicKey, { algorithms: ["RS256"] }),
          catch: () => forged
        })
        const rules = typ === sessionTokenType ? byDefault : byOwnServer
        // Whatever claims an ID token has, it is for the app that it names.
        if (typ !== sessionTokenType && typ !== "at+jwt") return { payload, typ: "id_token", rules }
        return { payload, typ, rules }
      })

      /** The payload's bytes, how long they are valid without another verification, and the rules for their claims. */
      const verifySignature = Effect.fnUntraced(function* (token: string) {
        if (!insecure && secrets.length === 0 && keys === undefined && !own.enabled) {
          return yield* refused(
            "This service accepts no JWTs: set SVC_JWT_SECRET or SVC_JWKS_URL",
            "JWT_NOT_CONFIGURED"
          )
        }
        const header = yield* decodeHeader(token)
        const { typ } = header
        const always = { typ, until: Number.POSITIVE_INFINITY, rules: byDefault }
        if (insecure) return { ...always, payload: yield* decodePayload(token) }
        // No critical extension is supported, so RFC 7515 requires that every token that has one is refused.
        if (header.crit !== undefined) return yield* forged
        if (header.alg === "HS256" && secrets.length > 0) {
          const { payload } = yield* Effect.firstSuccessOf(
            secrets.map((secret) =>
              Effect.tryPromise({
                try: () => compactVerify(token, secret, { algorithms: ["HS256"] }),
                catch: () => forged
              })
            )
          )
          return { ...always, payload }
        }
        if (header.alg === "RS256" && header.kid !== undefined) {
          const found = yield* fromOwn(token, header.kid, typ)
          if (found !== undefined) return { ...found, until: Number.POSITIVE_INFINITY }
        }
        if (keys !== undefined && publicKeyAlgorithms.includes(header.alg ?? "")) {
          return { ...(yield* fromKeys(keys, token)), typ }
        }
        return yield* forged
      })

      const verified = new LRUCache<string, Verified>({
        max: 10_000,
        maxSize: 16 * 1024 * 1024, // characters
        sizeCalculation: ({ claims }, token) => token.length + claims.claims.length
      })
      const verifyNew = Effect.fn("Tokens.verify")(function* (token: string) {
        if (token.length > maxTokenLength) return yield* refused("The JWT is longer than 8 KiB")
        const { payload, rules, typ, until } = yield* verifySignature(token)
        const now = clock.currentTimeMillisUnsafe()
        const claims = yield* Effect.fromResult(readClaims(payload, typ, now, rules))
        const end = claims.exp === undefined ? until : Math.min(until, (claims.exp + leewaySeconds) * 1000)
        verified.set(token, { claims, until: end })
        return claims
      })
      const verify = (token: string) =>
        Effect.suspend(() => {
          const before = verified.get(token)
          return before !== undefined && clock.currentTimeMillisUnsafe() < before.until
            ? Effect.succeed(before.claims)
            : verifyNew(token)
        })
      return Tokens.of({ verify, scopes: byKeys.scopes })
    })
  )
}

const importSecret = (name: string) => (secret: string) => {
  const bytes = new TextEncoder().encode(secret)
  return bytes.length < 32
    ? Effect.fail(new SettingError({ message: `${name} must be at least 32 bytes long` }))
    : Effect.promise(() => crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]))
}

/** The current secret, then those of SVC_JWT_SECRETS_OLD, whose tokens are accepted while clients get new ones. */
const importSecrets = Effect.fnUntraced(function* (current: JwtSecret["Service"]["secret"]) {
  const old = yield* secretText("SVC_JWT_SECRETS_OLD")
  if (current === undefined && old === undefined) return []
  if (current === undefined) {
    return yield* new SettingError({
      message: "SVC_JWT_SECRETS_OLD requires SVC_JWT_SECRET: set that to the current one"
    })
  }
  const before =
    old === undefined
      ? []
      : Redacted.value(old)
          .split(",")
          .map((text) => text.trim())
  const imported = yield* Effect.forEach(before, importSecret("SVC_JWT_SECRETS_OLD"))
  return [yield* importSecret("SVC_JWT_SECRET")(Redacted.value(current)), ...imported]
})

/**
 * SVC_JWKS_URL, or the OAuth 2.0 server's key set, or undefined. `ofOAuth2`: the keys also sign ID tokens, which
 * identify users to apps and must not give them access to the user's data.
 */
const keysAddress = Effect.gen(function* () {
  const chosen = yield* url("SVC_JWKS_URL")
  const issuer = yield* text("OAUTH2_PUBLIC_URL", undefined)
  const own = issuer === undefined ? undefined : `${issuer.replace(/\/+$/, "")}/.well-known/jwks.json`
  const address = chosen?.href ?? own
  if (address === undefined) return undefined
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    const name = chosen === undefined ? "OAUTH2_PUBLIC_URL" : "SVC_JWKS_URL"
    return yield* new SettingError({ message: `${name} must be an absolute http or https URL` })
  }
  const found = new URL(address)
  return { url: found, ofOAuth2: own !== undefined && URL.canParse(own) && found.href === new URL(own).href }
})

const decodeHeader = (token: string) => Effect.try({ try: () => decodeProtectedHeader(token), catch: () => forged })

/** The payload of a token in the form of a JWT; does not verify its signature. */
const decodePayload = (token: string) =>
  Effect.try({
    try: () => {
      const [, payload, signature, rest] = token.split(".", 4)
      if (payload === undefined || signature === undefined || rest !== undefined) throw new TypeError("Not three parts")
      return base64url.decode(payload)
    },
    catch: () => forged
  })
