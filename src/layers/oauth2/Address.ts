import { Effect, Redacted } from "effect"
import { secret, url } from "../../domain/Settings.ts"
import { StartError } from "../process/StartError.ts"

/** Where the OAuth 2.0 server's admin side is. */
export interface OAuth2Address {
  /** Without a slash at the end; may have a path. */
  readonly adminUrl: string
  /** Goes to `adminUrl` only. */
  readonly token: Redacted.Redacted | undefined
}

/** Text of an HTTP header as `Authorization: Bearer` takes it (RFC 9110 5.5, without spaces). */
const tokenText = /^[\x21-\x7e]+$/

/** OAUTH2_ADMIN_URL with OAUTH2_ADMIN_TOKEN; undefined when the first is not set. OAUTH2_PUBLIC_URL is checked too. */
export const oauth2Address: Effect.Effect<OAuth2Address | undefined, StartError> = Effect.gen(function* () {
  yield* serverUrl("OAUTH2_PUBLIC_URL")
  const adminUrl = yield* serverUrl("OAUTH2_ADMIN_URL")
  const given = yield* secret("OAUTH2_ADMIN_TOKEN")
  const token = given && Redacted.make(Redacted.value(given).trim())
  if (token !== undefined && !tokenText.test(Redacted.value(token))) {
    return yield* new StartError({ message: "OAUTH2_ADMIN_TOKEN must be printable ASCII without spaces" })
  }
  return adminUrl === undefined ? undefined : { adminUrl, token }
})

/** An http(s) URL that paths are put behind, without the slash at its end. */
const serverUrl = (name: string) =>
  Effect.gen(function* () {
    const given = yield* Effect.mapError(url(name), ({ message }) => new StartError({ message }))
    if (given === undefined) return undefined
    const bare = given.search === "" && given.hash === "" && given.username === "" && given.password === ""
    return bare && /^https?:$/.test(given.protocol)
      ? `${given.origin}${given.pathname}`.replace(/\/+$/, "")
      : yield* new StartError({
          message: `${name} must be an http or https URL without user, query and fragment, such as http://127.0.0.1:4445`
        })
  })
