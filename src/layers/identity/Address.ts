import { Effect } from "effect"
import { url } from "../../domain/Settings.ts"
import { StartError } from "../process/StartError.ts"

/** Where the idp is. No slash at the end; a path is kept, for one that stands behind a proxy. */
export interface IdPAddress {
  /** For us and for browsers alike: sign-in addresses begin with it. */
  readonly publicUrl: string
  /** Undefined when IDP_ADMIN_URL is not set: sessions and settings work, looking people up does not. */
  readonly adminUrl: string | undefined
}

/** IDP_PUBLIC_URL and IDP_ADMIN_URL; undefined when neither is set. */
export const idpAddress = Effect.gen(function* () {
  const publicUrl = yield* base("IDP_PUBLIC_URL")
  const adminUrl = yield* base("IDP_ADMIN_URL")
  if (publicUrl !== undefined) {
    const address: IdPAddress = { publicUrl, adminUrl }
    return address
  }
  return adminUrl === undefined
    ? undefined
    : yield* new StartError({ message: "IDP_PUBLIC_URL must be set, because IDP_ADMIN_URL is" })
})

/** Origin and path of an http(s) URL. */
const base = (name: string) =>
  Effect.flatMap(url(name), (given) => {
    if (given === undefined) return Effect.undefined
    const bare = given.search === "" && given.hash === "" && given.username === "" && given.password === ""
    return bare && /^https?:$/.test(given.protocol)
      ? Effect.succeed(`${given.origin}${given.pathname.replace(/\/+$/, "")}`)
      : Effect.fail(
          new StartError({
            message: `${name} must be an http or https URL without user, query and fragment, such as https://id.example.com`
          })
        )
  })
