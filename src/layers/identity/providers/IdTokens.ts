import { Clock, Effect } from "effect"
import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from "jose"
import { createHash } from "node:crypto"
import {
  badIdToken,
  badIdTokenAudience,
  idTokenNonceMismatch,
  idTokenNonceMissing
} from "../../../domain/supabase/AuthErrors.ts"
import { type GivenIdToken } from "../../../services/ports/identity/Providers.ts"
import { asking, boundedFetch, timeoutSeconds } from "./Requests.ts"

/** Signatures that only the provider can make. Those with a shared secret are not among them. */
const algorithms = new Set("RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" "))
/** How far the clocks of the provider and of this service may differ, in s. */
export const toleranceSeconds = 10

/** The fields of a provider's description that determine how its ID tokens are verified. */
interface Metadata {
  readonly issuer: string
  readonly jwks_uri?: string
  readonly id_token_signing_alg_values_supported?: ReadonlyArray<string>
}
interface Claims extends JWTPayload {
  readonly iss: string
  readonly sub: string
  readonly exp: number
}
type Keys = ReturnType<typeof createRemoteJWKSet>

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** The issuer that a token must name: Microsoft's description of all tenants has a gap for the tenant's id. */
const issuerOf = (template: string, { tid: tenant }: JWTPayload) =>
  typeof tenant === "string" && uuid.test(tenant) ? template.replace("{tenantid}", tenant) : template
/** Some of Google's tokens name it without the scheme. */
const google = "https://accounts.google.com"

/** Whether an access token is the one that came with an ID token of this algorithm (OpenID Connect Core 3.1.3.6). */
const isOf = (accessToken: string, hash: unknown, algorithm: string) => {
  const digest = createHash(algorithm.startsWith("Ed") ? "sha512" : `sha${algorithm.slice(2)}`)
    .update(accessToken)
    .digest()
  return hash === digest.subarray(0, digest.length / 2).toString("base64url")
}

/** Faults of the token; what else fails is the provider's. */
const isTokenFault = (cause: unknown) =>
  cause instanceof errors.JWTClaimValidationFailed ||
  cause instanceof errors.JWTExpired ||
  cause instanceof errors.JWTInvalid ||
  cause instanceof errors.JWSInvalid ||
  cause instanceof errors.JWSSignatureVerificationFailed ||
  cause instanceof errors.JWKSNoMatchingKey ||
  cause instanceof errors.JWKSMultipleMatchingKeys ||
  cause instanceof errors.JOSEAlgNotAllowed ||
  cause instanceof errors.JOSENotSupported

/**
 * Verifies ID tokens that apps got without a redirect (OpenID Connect Core 3.1.3.7): signed by the provider, for one of the
 * client ids, not expired. A nonce that one side has, the other must have too.
 */
export const makeIdTokens = (label: string, clientIds: ReadonlyArray<string>) => {
  let known: { readonly uri: string; readonly keys: Keys } | undefined

  /** The provider's keys, which are fetched again for an unknown key, though not for each. */
  const keysOf = (uri: string) => {
    if (known?.uri === uri) return known.keys
    const keys = createRemoteJWKSet(new URL(uri), {
      [customFetch]: boundedFetch,
      timeoutDuration: timeoutSeconds * 1000
    })
    known = { uri, keys }
    return keys
  }

  return Effect.fnUntraced(function* (metadata: Metadata, { accessToken, idToken, nonce }: GivenIdToken) {
    const now = yield* Clock.currentTimeMillis
    const verified = yield* asking(label, async () => {
      if (metadata.jwks_uri === undefined) throw new TypeError("The provider has no jwks_uri")
      const supported = metadata.id_token_signing_alg_values_supported ?? ["RS256"]
      try {
        return await jwtVerify(idToken, keysOf(metadata.jwks_uri), {
          algorithms: supported.filter((name) => algorithms.has(name)),
          requiredClaims: ["iss", "sub", "aud", "exp"],
          clockTolerance: toleranceSeconds,
          currentDate: new Date(now)
        })
      } catch (cause) {
        if (isTokenFault(cause)) return undefined
        throw cause
      }
    })
    if (verified === undefined) return yield* badIdToken
    const { payload, protectedHeader } = verified
    const claims = (payload.iss === "accounts.google.com" ? { ...payload, iss: google } : payload) as Claims
    // A provider signs other tokens too, such as access tokens and those that end sessions.
    if (protectedHeader.typ !== undefined && protectedHeader.typ.toUpperCase() !== "JWT") return yield* badIdToken
    if (typeof claims.sub !== "string" || claims.sub === "" || claims.sub.length > 255) return yield* badIdToken
    if (claims.iss !== issuerOf(metadata.issuer, claims)) return yield* badIdToken

    const audiences = [claims.aud ?? []].flat()
    if (!audiences.some((one) => clientIds.includes(one))) return yield* badIdTokenAudience
    // A token with several audiences was issued to the one in `azp`.
    if (audiences.length > 1 && !clientIds.includes(String(claims["azp"]))) return yield* badIdTokenAudience

    const inToken = claims["nonce"]
    const hasNonce = inToken !== undefined && inToken !== ""
    if (hasNonce !== (nonce !== undefined)) return yield* idTokenNonceMissing
    if (nonce !== undefined && createHash("sha256").update(nonce).digest("hex") !== inToken) {
      return yield* idTokenNonceMismatch
    }
    const { at_hash: hash } = claims
    if (accessToken !== undefined && hash !== undefined && !isOf(accessToken, hash, protectedHeader.alg)) {
      return yield* badIdToken
    }
    return { claims, seconds: Math.max(1, claims.exp + toleranceSeconds - now / 1000) }
  })
}
