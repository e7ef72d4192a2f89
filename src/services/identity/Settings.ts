import { Context, Effect, Layer } from "effect"
import { baseUrl, flag, list } from "../../domain/Settings.ts"

/** PUBLIC_URL, DASHBOARD_URL, SVC_AUTH_REQUIRED and SVC_ADMIN_IDENTITIES, read before the service starts anything. */
export class IdentitySettings extends Context.Service<
  IdentitySettings,
  {
    /** The service's URL as browsers know it, without a trailing slash; undefined: taken from each request. */
    readonly publicUrl: string | undefined
    /** The dashboard's URL, without a trailing slash. */
    readonly dashboardUrl: string | undefined
    /** Whether this service verifies the session before it passes a call on to the identity provider. */
    readonly authRequired: boolean
    /** Ids and e-mail addresses of administrators, in lower case. */
    readonly admins: ReadonlySet<string>
  }
>()("svc/services/IdentitySettings") {
  static readonly layer = Layer.effect(
    IdentitySettings,
    Effect.gen(function* () {
      return IdentitySettings.of({
        publicUrl: yield* baseUrl("PUBLIC_URL"),
        dashboardUrl: yield* baseUrl("DASHBOARD_URL"),
        authRequired: yield* flag("SVC_AUTH_REQUIRED", false),
        admins: new Set((yield* list("SVC_ADMIN_IDENTITIES", [])).map((name) => name.toLowerCase()))
      })
    })
  )
}
