import { Result } from "effect"
import { Unauthorized } from "../errors.ts"

/** The claims of a verified JWT. */
export interface JwtClaims {
  /** The payload, a JSON object, as the exact text that was signed. */
  readonly claims: string
  /** The subject, or "" when there is none. */
  readonly sub: string
  /** When it expires, in seconds since 1970; undefined: never. */
  readonly exp: number | undefined
}

/** Tolerated difference between the issuer's clock and this one, in seconds. */
export const leewaySeconds = 30

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** `\u0000` whose backslash is not itself escaped: PostgreSQL can't store that character in text. */
const escapedNul = /(?<!\\)(?:\\\\)*\\u0000/

const refuse = (error: string, code = "JWT_INVALID") => Result.fail(new Unauthorized({ error, code }))

/**
 * Reads a JWT payload and checks its times and audience. `now` in milliseconds since 1970; `audiences` empty: any.
 * Does not verify the signature.
 */
export const readClaims = (
  payload: Uint8Array,
  now: number,
  audiences: ReadonlyArray<string>
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
  const { aud, exp, nbf, sub = "" } = parsed as Readonly<Record<string, unknown>>
  // An unpaired surrogate would reach PostgreSQL as U+FFFD, and so could match another user's sub.
  if (typeof sub !== "string" || !sub.isWellFormed()) return refuse("The JWT's sub claim is not a valid string")
  if (exp !== undefined && typeof exp !== "number") return refuse("The JWT's exp claim is not a number")
  if (nbf !== undefined && typeof nbf !== "number") return refuse("The JWT's nbf claim is not a number")
  const seconds = Math.floor(now / 1000)
  if (exp !== undefined && exp <= seconds - leewaySeconds) return refuse("The JWT has expired", "JWT_EXPIRED")
  if (nbf !== undefined && nbf > seconds + leewaySeconds) return refuse("The JWT is not valid yet", "JWT_NOT_YET_VALID")
  if (audiences.length > 0) {
    const given: ReadonlyArray<unknown> = Array.isArray(aud) ? aud : [aud]
    if (!audiences.some((audience) => given.includes(audience))) {
      return refuse("The JWT was issued for another audience", "JWT_AUDIENCE")
    }
  }
  return Result.succeed({ claims, sub, exp })
}
