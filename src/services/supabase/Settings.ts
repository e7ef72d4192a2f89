import { Context, Effect, Layer } from "effect"
import { baseUrl, duration, flag, list, SettingError } from "../../domain/Settings.ts"
import { redirectPattern } from "../../domain/supabase/Redirects.ts"
import { ownUrl } from "../OwnUrl.ts"

/** SVC_SUPABASE, for layers that are built without the other settings. */
export const supabaseEnabled = flag("SVC_SUPABASE", false)

/** SVC_SUPABASE and what depends on it, read before anything is started (docs/configuration.md). */
export class SupabaseSettings extends Context.Service<
  SupabaseSettings,
  {
    /** Whether the paths of Supabase's clients are served, and the database has what their SQL expects. */
    readonly enabled: boolean
    /** Whether JWTs with a role and without a subject, signed by SVC_JWT_SECRET, are API keys. */
    readonly jwtKeys: boolean
    readonly auth: {
      /** The URL to which browsers return after a sign-in, unless the client requests one of `redirects`. */
      readonly site: string
      readonly redirects: ReadonlyArray<RegExp>
      readonly anonymous: boolean
    }
    readonly functions: {
      /** The server that `/functions/v1` is passed on to, without a trailing slash. */
      readonly url: string | undefined
      /** The longest pause of its answer, in ms. */
      readonly timeout: number
      /** Whether a call needs an API key or a JWT. */
      readonly verifyJwt: boolean
    }
  }
>()("svc/services/SupabaseSettings") {
  static readonly layer = Layer.effect(
    SupabaseSettings,
    Effect.gen(function* () {
      const enabled = yield* supabaseEnabled
      const jwtKeys = yield* flag("SVC_SUPABASE_JWT_KEYS", false)
      const url = yield* baseUrl("SVC_FUNCTIONS_URL")
      const needing = jwtKeys ? "SVC_SUPABASE_JWT_KEYS" : url === undefined ? undefined : "SVC_FUNCTIONS_URL"
      if (needing !== undefined && !enabled) {
        return yield* new SettingError({ message: `${needing} requires SVC_SUPABASE=true` })
      }
      // Anyone could write a key of service_role.
      if (jwtKeys && (yield* flag("SVC_JWT_INSECURE_DECODE", false))) {
        return yield* new SettingError({
          message: "SVC_SUPABASE_JWT_KEYS and SVC_JWT_INSECURE_DECODE must not both be true"
        })
      }
      const redirects = (yield* list("SVC_SUPABASE_REDIRECT_URLS", [])).map(redirectPattern)
      if (redirects.includes(undefined)) {
        return yield* new SettingError({
          message:
            "SVC_SUPABASE_REDIRECT_URLS must be URLs separated by commas, such as https://*.example.com/** or myapp://callback, with at most four stars each"
        })
      }
      return SupabaseSettings.of({
        enabled,
        jwtKeys,
        auth: {
          site: (yield* baseUrl("SVC_SUPABASE_SITE_URL")) ?? (yield* ownUrl),
          redirects: redirects.filter((pattern) => pattern !== undefined),
          anonymous: yield* flag("SVC_SUPABASE_ANONYMOUS", false)
        },
        functions: {
          url,
          timeout: yield* duration("SVC_FUNCTIONS_TIMEOUT", 150_000),
          verifyJwt: yield* flag("SVC_FUNCTIONS_VERIFY_JWT", true)
        }
      })
    })
  )
}
