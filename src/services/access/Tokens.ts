import { base64url, compactVerify, decodeProtectedHeader } from "jose"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { flag, list, SettingError, text, url } from "../../domain/Settings.ts"
import { Unauthorized, Unavailable } from "../../domain/errors.ts"
import { type JwtClaims, leewaySeconds, readClaims } from "../../domain/access/JwtClaims.ts"
import { KeysUnreachable, publicKeyAlgorithms, SigningKeys } from "./SigningKeys.ts"

/** The secret of HS256 tokens; undefined: none are accepted. From SVC_JWT_SECRET, or generated in embedded mode. */
export class JwtSecret extends Context.Service<JwtSecret, { readonly secret: Redacted.Redacted<string> | undefined }>()(
  "svc/services/JwtSecret"
) {}

/** Longer tokens are refused unread. */
const maxTokenLength = 8192

const refused = (error: string, code = "JWT_INVALID") => new Unauthorized({ error, code })
/** One text for all that can be wrong with a signature: how near a forgery came is nobody's business. */
const forged = refused("The JWT is malformed, or its signature is not from a key this service trusts")
const unreachable = new Unavailable({
  error: "The keys that JWTs are verified with can't be fetched at the moment",
  code: "JWKS_UNAVAILABLE",
  retry_after: 5
})

/** Capability: tells whether a JWT may be believed, and what it says. */
export class Tokens extends Context.Service<
  Tokens,
  {
    /**
     * The claims of a token (the text after `Bearer `). Known tokens are answered from memory, at once.
     * A `role` claim means nothing here: who has a good token is `authenticated`.
     */
    readonly verify: (token: string) => Effect.Effect<JwtClaims, Unauthorized | Unavailable>
  }
>()("svc/services/Tokens") {
  static readonly layer: Layer.Layer<Tokens, SettingError, JwtSecret> = Layer.effect(
    Tokens,
    Effect.gen(function* () {
      const insecure = yield* flag("SVC_JWT_INSECURE_DECODE", false)
      const audiences = yield* list("SVC_JWT_AUDIENCE", [])
      const secret = yield* importSecret(yield* JwtSecret)
      const address = yield* keysAddress
      const clock = yield* Clock.Clock
      const keys = address && new SigningKeys(address, () => clock.currentTimeMillisUnsafe())
      if (insecure) {
        yield* Effect.logWarning(
          "SVC_JWT_INSECURE_DECODE is true: JWT signatures are NOT verified, so anybody can be any user. Never in production."
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
          yield* Effect.logWarning(`JWT keys could not be fetched from ${address?.href}`, failure)
        return yield* Effect.fromResult(verified)
      })

      /** The payload's bytes, and until when (in milliseconds) they may be believed without asking again. */
      const believed = Effect.fnUntraced(function* (token: string) {
        if (insecure) return { payload: yield* decodePayload(token), until: Number.POSITIVE_INFINITY }
        if (secret === undefined && keys === undefined) {
          return yield* refused(
            "This service accepts no JWTs: no secret and no key set is configured",
            "JWT_NOT_CONFIGURED"
          )
        }
        const header = yield* decodeHeader(token)
        // We understand no critical extension, so by RFC 7515 every token that has one is refused.
        if (header.crit !== undefined) return yield* forged
        if (header.alg === "HS256" && secret !== undefined) {
          const { payload } = yield* Effect.tryPromise({
            try: () => compactVerify(token, secret, { algorithms: ["HS256"] }),
            catch: () => forged
          })
          return { payload, until: Number.POSITIVE_INFINITY }
        }
        if (keys !== undefined && publicKeyAlgorithms.includes(header.alg ?? "")) return yield* fromKeys(keys, token)
        return yield* forged
      })

      const known = new KnownTokens()
      const verifyUnknown = Effect.fn("Tokens.verify")(function* (token: string) {
        if (token.length > maxTokenLength) return yield* refused("The JWT is longer than 8 KiB")
        const { payload, until } = yield* believed(token)
        const now = clock.currentTimeMillisUnsafe()
        const claims = yield* Effect.fromResult(readClaims(payload, now, audiences))
        const end = claims.exp === undefined ? until : Math.min(until, (claims.exp + leewaySeconds) * 1000)
        known.add(token, claims, end)
        return claims
      })
      const verify = (token: string) =>
        Effect.suspend(() => {
          const claims = known.find(token, clock.currentTimeMillisUnsafe())
          return claims === undefined ? verifyUnknown(token) : Effect.succeed(claims)
        })
      return Tokens.of({ verify })
    })
  )
}

const importSecret = Effect.fnUntraced(function* ({ secret }: JwtSecret["Service"]) {
  if (secret === undefined) return undefined
  const bytes = new TextEncoder().encode(Redacted.value(secret))
  if (bytes.length < 32) return yield* new SettingError({ message: "SVC_JWT_SECRET must be at least 32 bytes long" })
  return yield* Effect.promise(() =>
    crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
  )
})

/** SVC_JWKS_URL, or where the OAuth 2.0 server has its keys, or undefined. */
const keysAddress = Effect.gen(function* () {
  const chosen = yield* url("SVC_JWKS_URL")
  const issuer = yield* text("OAUTH2_PUBLIC_URL", undefined)
  if (chosen === undefined && issuer === undefined) return undefined
  const name = chosen === undefined ? "OAUTH2_PUBLIC_URL" : "SVC_JWKS_URL"
  const address = chosen?.href ?? `${issuer?.replace(/\/+$/, "")}/.well-known/jwks.json`
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)
    ? new URL(address)
    : yield* new SettingError({ message: `${name} must be an absolute http or https URL` })
})

const decodeHeader = (token: string) => Effect.try({ try: () => decodeProtectedHeader(token), catch: () => forged })

/** The payload of something that has a JWT's form; its signature is not looked at. */
const decodePayload = (token: string) =>
  Effect.flatMap(decodeHeader(token), () =>
    Effect.try({
      try: () => {
        const [, payload, signature, rest] = token.split(".", 4)
        if (payload === undefined || signature === undefined || rest !== undefined)
          throw new TypeError("Not three parts")
        return base64url.decode(payload)
      },
      catch: () => forged
    })
  )

interface Known {
  readonly claims: JwtClaims
  readonly until: number
}

/**
 * Tokens that were verified before, in two generations: what is used moves to the young one, and when that is full
 * the old one is forgotten whole. So at most 10,000 tokens and 16 Mi characters stay, the most recently used ones.
 */
class KnownTokens {
  private young = new Map<string, Known>()
  private old = new Map<string, Known>()
  private characters = 0

  /** Undefined when unknown, or when its time (milliseconds since 1970) is over. */
  find(token: string, now: number): JwtClaims | undefined {
    const young = this.young.get(token)
    if (young !== undefined) {
      if (now < young.until) return young.claims
      this.young.delete(token)
      return undefined
    }
    const old = this.old.get(token)
    if (old === undefined || now >= old.until) return undefined
    this.add(token, old.claims, old.until)
    return old.claims
  }

  add(token: string, claims: JwtClaims, until: number): void {
    if (this.young.size >= 5_000 || this.characters >= 8_388_608) {
      this.old = this.young
      this.young = new Map()
      this.characters = 0
    }
    this.young.set(token, { claims, until })
    this.characters += token.length + claims.claims.length
  }
}
