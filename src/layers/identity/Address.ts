import { Effect } from "effect"
import { baseUrl } from "../../domain/Settings.ts"
import { StartError } from "../process/StartError.ts"

/** The URLs of the identity provider, without a trailing slash. They may have a path, for one behind a proxy. */
export interface IdPAddress {
  /** Used by this service and by browsers: sign-in URLs start with it. */
  readonly publicUrl: string
  /** Undefined without IDP_ADMIN_URL: sessions and settings work, reading other identities does not. */
  readonly adminUrl: string | undefined
}

/** IDP_PUBLIC_URL and IDP_ADMIN_URL; undefined when neither is set. */
export const idpAddress = Effect.gen(function* () {
  const publicUrl = yield* baseUrl("IDP_PUBLIC_URL")
  const adminUrl = yield* baseUrl("IDP_ADMIN_URL")
  if (publicUrl === undefined && adminUrl === undefined) return undefined
  if (publicUrl === undefined) {
    return yield* new StartError({ message: "IDP_PUBLIC_URL must be set, because IDP_ADMIN_URL is" })
  }
  const address: IdPAddress = { publicUrl, adminUrl }
  return address
})
