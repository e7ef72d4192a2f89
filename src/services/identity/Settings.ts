import { Context, Effect, Layer } from "effect"
import { flag, list, SettingError, url } from "../../domain/Settings.ts"

/** PUBLIC_URL, DASHBOARD_URL, SVC_AUTH_REQUIRED and SVC_ADMIN_IDENTITIES, read before anything is started. */
export class IdentitySettings extends Context.Service<
  IdentitySettings,
  {
    /** Our own address as browsers know it, without a slash at its end; undefined: as the request says. */
    readonly publicUrl: string | undefined
    /** The same of the dashboard. */
    readonly dashboardUrl: string | undefined
    /** Whether we ask for a session ourselves before the idp is asked to do anything. */
    readonly authRequired: boolean
    /** Ids and e-mail addresses, in lower case. */
    readonly admins: ReadonlySet<string>
  }
>()("svc/services/IdentitySettings") {
  static readonly layer = Layer.effect(
    IdentitySettings,
    Effect.gen(function* () {
      return IdentitySettings.of({
        publicUrl: yield* webAddress("PUBLIC_URL"),
        dashboardUrl: yield* webAddress("DASHBOARD_URL"),
        authRequired: yield* flag("SVC_AUTH_REQUIRED", false),
        admins: new Set((yield* list("SVC_ADMIN_IDENTITIES", [])).map((name) => name.toLowerCase()))
      })
    })
  )
}

const webAddress = (name: string) =>
  Effect.gen(function* () {
    const given = yield* url(name)
    if (given === undefined) return undefined
    if (!/^https?:$/.test(given.protocol) || given.search !== "" || given.hash !== "" || given.username !== "") {
      return yield* new SettingError({ message: `${name} must be an http or https URL without query or user name` })
    }
    return given.origin + given.pathname.replace(/\/+$/, "")
  })
