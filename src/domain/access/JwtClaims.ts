import { Result } from "effect"
import { type ErrorCode } from "../codes/ErrorCode.ts"
import { Unauthorized } from "../errors.ts"

type Claims = Readonly<Record<string, unknown>>

/** The scopes of a token: `scope`, separated by spaces (RFC 9068 2.2.3), or Hydra's `scp`, also as an array. */
const scopesOf = ({ scope, scp }: Claims): ReadonlyArray<unknown> | undefined => {
  const scopes = scope ?? scp
  return typeof scopes === "string" ? scopes.split(" ") : Array.isArray(scopes) ? scopes : undefined
}

/**
 * Whether a token of an OAuth 2.0 server is an access token (RFC 9068 2), not an ID token or logout token, which is
 * signed with the same keys: by the header's `typ`, else by the client and the scopes.
 */
const isAccessToken = (typ: unknown, claims: Claims): boolean => {
  const type = String(typ ?? "JWT")
    .toLowerCase()
    .replace(/^application\//, "")
  if (type !== "jwt") return type === "at+jwt"
  const { client_id } = claims
  return typeof client_id === "string" && client_id !== "" && scopesOf(claims) !== undefined
}

/** The claims of a verified JWT. */
export interface JwtClaims {
  /** The payload, a JSON object, as the exact text that was signed. */
  readonly claims: string
  /** The subject, or "" when there is none. */
  readonly sub: string
  /** The expiry, in seconds since 1970; undefined: never. */
  readonly exp: number | undefined
}

/** Tolerated difference between the issuer's clock and this one, in seconds. */
export const leewaySeconds = 30

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** `\u0000` whose backslash is not itself escaped: PostgreSQL can't store that character in text. */
const escapedNul = /(?<!\\)(?:\\\\)*\\u0000/

const refuse = (error: string, code: ErrorCode = "JWT_INVALID") => Result.fail(new Unauthorized({ error, code }))

/** Requirements on a token beyond its signature and times. */
export interface TokenRules {
  /** One of these must be in `aud`; empty: any. */
  readonly audiences: ReadonlyArray<string>
  /** The token must have one of these scopes; empty: any. */
  readonly scopes: ReadonlyArray<string>
  /** Whether only access tokens are accepted. */
  readonly accessTokensOnly: boolean
}

/**
 * Reads a JWT payload and checks its times and the rules. `now` in milliseconds since 1970; `typ` from the header.
 * Does not verify the signature.
 */
export const readClaims = (
  payload: Uint8Array,
  typ: unknown,
  now: number,
  { accessTokensOnly, audiences, scopes }: TokenRules
): Result.Result<JwtClaims, Unauthorized> => {
  let claims: string
  let parsed: unknown
  try {
    claims = utf8.decode(payload)
    parsed = JSON.parse(claims)
  } catch {
    return refuse("The JWT's payload is not JSON")
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    return refuse("The JWT's payload is not a JSON object")
  }
  if (escapedNul.test(claims)) return refuse("The JWT's payload contains a NUL character, which PostgreSQL can't store")
  const all = parsed as Readonly<Record<string, unknown>>
  const { aud, exp, nbf, sub = "" } = all
  // An unpaired surrogate would reach PostgreSQL as U+FFFD, and so could match another user's sub.
  if (typeof sub !== "string" || !sub.isWellFormed()) return refuse("The JWT's sub claim is not a valid string")
  if (exp !== undefined && typeof exp !== "number") return refuse("The JWT's exp claim is not a number")
  if (nbf !== undefined && typeof nbf !== "number") return refuse("The JWT's nbf claim is not a number")
  const seconds = Math.floor(now / 1000)
  if (exp !== undefined && exp <= seconds - leewaySeconds) return refuse("The JWT has expired", "JWT_EXPIRED")
  if (nbf !== undefined && nbf > seconds + leewaySeconds) return refuse("The JWT is not valid yet", "JWT_NOT_YET_VALID")
  if (accessTokensOnly && !isAccessToken(typ, all)) {
    return refuse(
      "The JWT is of the OAuth 2.0 server, but not an access token; send the access token instead",
      "JWT_NOT_ACCESS_TOKEN"
    )
  }
  if (scopes.length > 0 && !scopesOf(all)?.some((scope) => scopes.includes(scope as string))) {
    return refuse(`The JWT has none of the required scopes; request ${scopes.join(" or ")}`, "JWT_SCOPE")
  }
  if (audiences.length > 0) {
    const targets: ReadonlyArray<unknown> = Array.isArray(aud) ? aud : [aud]
    if (!audiences.some((audience) => targets.includes(audience))) {
      return refuse("The JWT was issued for another audience", "JWT_AUDIENCE")
    }
  }
  return Result.succeed({ claims, sub, exp })
}
