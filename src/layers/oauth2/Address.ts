import { Effect, Redacted } from "effect"
import { baseUrl, secret } from "../../domain/Settings.ts"
import { StartError } from "../process/StartError.ts"

/** The address of the OAuth 2.0 server's admin API. */
export interface OAuth2Address {
  /** The URL without a trailing slash; it may have a path. */
  readonly adminUrl: string
  /** Sent to `adminUrl` only. */
  readonly token: Redacted.Redacted | undefined
}

/** The characters of a token in `Authorization: Bearer` (RFC 9110 5.5, without spaces). */
const tokenText = /^[\x21-\x7e]+$/

/** OAUTH2_ADMIN_URL and OAUTH2_ADMIN_TOKEN; undefined when the first is not set. Also validates OAUTH2_PUBLIC_URL. */
export const oauth2Address = Effect.gen(function* () {
  yield* baseUrl("OAUTH2_PUBLIC_URL")
  const adminUrl = yield* baseUrl("OAUTH2_ADMIN_URL")
  const given = yield* secret("OAUTH2_ADMIN_TOKEN")
  const token = given && Redacted.make(Redacted.value(given).trim())
  if (token !== undefined && !tokenText.test(Redacted.value(token))) {
    return yield* new StartError({ message: "OAUTH2_ADMIN_TOKEN must be printable ASCII without spaces" })
  }
  if (adminUrl === undefined) return undefined
  const address: OAuth2Address = { adminUrl, token }
  return address
})
