import { Context, Effect, Layer } from "effect"
import { LRUCache } from "lru-cache"
import { clientAddressOf, proxiesOf } from "../../domain/identity/ClientAddress.ts"
import { baseUrl, flag, list, SettingError } from "../../domain/Settings.ts"
import { ownUrl } from "../OwnUrl.ts"

/** The settings of browsers and their users, read before the service starts anything. */
export class IdentitySettings extends Context.Service<
  IdentitySettings,
  {
    /** The service's URL for browsers, without a trailing slash; undefined: taken from each request. */
    readonly publicUrl: string | undefined
    /** `ownUrl`. */
    readonly ownUrl: string
    /** The dashboard's URL, without a trailing slash. */
    readonly dashboardUrl: string | undefined
    /** Whether this service verifies the session before it passes a call on to the identity provider. */
    readonly authRequired: boolean
    /** Ids and e-mail addresses of administrators, in lower case. */
    readonly admins: ReadonlySet<string>
    /** The client's address, from the peer's and `X-Forwarded-For`, according to SVC_TRUSTED_PROXIES. */
    readonly addressOf: (peer: string, forwarded: string | undefined) => string
  }
>()("svc/services/IdentitySettings") {
  static readonly layer = Layer.effect(
    IdentitySettings,
    Effect.gen(function* () {
      const isProxy = proxiesOf(yield* list("SVC_TRUSTED_PROXIES", ["private"]))
      if (isProxy === undefined) {
        return yield* new SettingError({
          message: "SVC_TRUSTED_PROXIES must be IP addresses and ranges such as 10.0.0.0/8 or private, or none"
        })
      }
      /** Results by peer and header: parsing takes longer than the rest of a small request's admission. */
      const known = new LRUCache<string, string>({ max: 4096 })
      const addressOf = (peer: string, forwarded: string | undefined) => {
        // The hops that count are the last ones.
        const hops = forwarded?.slice(-200)
        const key = `${peer} ${hops ?? ""}`
        const found = known.get(key) ?? clientAddressOf(peer, hops, isProxy)
        known.set(key, found)
        return found
      }
      return IdentitySettings.of({
        addressOf,
        publicUrl: yield* baseUrl("PUBLIC_URL"),
        ownUrl: yield* ownUrl,
        dashboardUrl: yield* baseUrl("DASHBOARD_URL"),
        authRequired: yield* flag("SVC_AUTH_REQUIRED", false),
        admins: new Set((yield* list("SVC_ADMIN_IDENTITIES", [])).map((name) => name.toLowerCase()))
      })
    })
  )
}
