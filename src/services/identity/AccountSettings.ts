import { Context, Effect, Layer, Redacted } from "effect"
import { baseUrl, duration, flag, integer, list, oneOf, secret, SettingError, text } from "../../domain/Settings.ts"
import { readAddress } from "../../domain/identity/Address.ts"
import { ownUrl } from "../OwnUrl.ts"
import { type Hooks, hookSettings } from "./HookSettings.ts"

export const loopback = /^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/

const isMailServer = (address: string) => /^smtps?:\/\/[^/]/.test(address) && URL.canParse(address)

/** SVC_AUTH_VERIFY: whether an account is created only when its address is confirmed. */
export const verifyFirst = Effect.map(
  oneOf("SVC_AUTH_VERIFY", "optional", ["optional", "required"]),
  (when) => when === "required"
)

/** SVC_IDENTITY: whether this service keeps accounts, unless another server does. */
export const keepsAccounts = Effect.map(
  oneOf("SVC_IDENTITY", "embedded", ["embedded", "off"]),
  (where) => where === "embedded"
)

/** The settings of the embedded identity provider. */
export class AccountSettings extends Context.Service<
  AccountSettings,
  {
    /** SVC_IDENTITY: whether this service keeps accounts and signs tokens itself. */
    readonly embedded: boolean
    readonly ownUrl: string
    /** Whether PUBLIC_URL is set. */
    readonly publicUrlKnown: boolean
    /**
     * The URL of the pages for a browser that will return to `returnTo`. Without PUBLIC_URL that is the address by which
     * the browser reaches this machine: its cookies belong to `localhost` or to `127.0.0.1`, not to both.
     */
    readonly pagesFor: (returnTo: string | undefined) => string
    /** How long a session lasts, in s. */
    readonly sessionSeconds: number
    /** How long a session lasts without a request, in s; undefined: as long as with requests. */
    readonly idleSeconds: number | undefined
    /** How long a sign-in is recent enough for changes of credentials, in s. */
    readonly privilegedSeconds: number
    /** How long a flow lasts, in s. */
    readonly flowSeconds: number
    readonly registration: boolean
    /** Whether an account is created only when its address is confirmed. */
    readonly verifyFirst: boolean
    /** Whether a new password at `/auth/v1` needs a code by mail a day after the sign-in. */
    readonly reauthentication: boolean
    /** Functions and receivers of the project that take part in sign-ups and sign-ins. */
    readonly hooks: Hooks
    /** How many accounts one client may register in 5 minutes. */
    readonly registrationsOfClient: number
    /** The relying party of passkeys and keys: a host name that all `origins` have or are below. */
    readonly rpId: string
    readonly origins: ReadonlyArray<string>
    /** The address of the mail server, with its password; undefined: e-mails stay in svc.mails. */
    readonly smtpUrl: Redacted.Redacted | undefined
    readonly mailFrom: string
    readonly mailReplyTo: string | undefined
  }
>()("svc/services/AccountSettings") {
  static readonly layer = Layer.effect(
    AccountSettings,
    Effect.gen(function* () {
      const own = yield* ownUrl
      const host = new URL(own).hostname
      const known = (yield* baseUrl("PUBLIC_URL")) !== undefined
      const idle = yield* duration("SVC_SESSION_IDLE", 0)
      if (idle !== 0 && idle < 300_000) {
        return yield* new SettingError({ message: "SVC_SESSION_IDLE must be at least 5m" })
      }
      const smtpUrl = yield* secret("SMTP_URL")
      if (smtpUrl !== undefined && !isMailServer(Redacted.value(smtpUrl))) {
        // The value has a password, so the message does not repeat it.
        return yield* new SettingError({ message: "SMTP_URL must be smtp[s]://user:password@host:port" })
      }
      const mailFrom = yield* text("MAIL_FROM", `no-reply@${host}`)
      const mailReplyTo = yield* text("MAIL_REPLY_TO", undefined)
      for (const [name, value] of Object.entries({ MAIL_FROM: mailFrom, MAIL_REPLY_TO: mailReplyTo })) {
        if (value !== undefined && readAddress(value) === undefined) {
          return yield* new SettingError({ message: `${name} must be an e-mail address, but it is "${value}"` })
        }
      }
      const dashboard = yield* baseUrl("DASHBOARD_URL")
      const dashboardOrigin = dashboard && new URL(dashboard).origin
      const more = yield* list("SVC_WEBAUTHN_ORIGINS", [])
      const origins = [own, ...(dashboard === undefined ? [] : [dashboard]), ...more].map((url) =>
        URL.canParse(url) ? new URL(url).origin : "null"
      )
      if (origins.includes("null")) {
        return yield* new SettingError({
          message: "SVC_WEBAUTHN_ORIGINS must be origins such as https://app.example.com, separated by commas"
        })
      }
      return AccountSettings.of({
        embedded: yield* keepsAccounts,
        ownUrl: own,
        publicUrlKnown: known,
        pagesFor: (returnTo) => {
          if (known || returnTo === undefined || !URL.canParse(returnTo)) return own
          const { hostname, origin } = new URL(returnTo)
          return loopback.test(hostname) && origin !== dashboardOrigin ? origin : own
        },
        sessionSeconds: (yield* duration("SVC_SESSION_LIFESPAN", 720 * 3_600_000)) / 1000,
        idleSeconds: idle === 0 ? undefined : idle / 1000,
        privilegedSeconds: (yield* duration("SVC_SESSION_PRIVILEGED", 900_000)) / 1000,
        flowSeconds: (yield* duration("SVC_AUTH_FLOW_LIFESPAN", 3_600_000)) / 1000,
        registration: yield* flag("SVC_AUTH_REGISTRATION", true),
        verifyFirst: yield* verifyFirst,
        reauthentication: yield* flag("SVC_SUPABASE_REAUTHENTICATION", false),
        hooks: yield* hookSettings,
        registrationsOfClient: yield* integer("SVC_AUTH_REGISTRATION_LIMIT", 30, 1, 1_000_000),
        rpId: yield* text("SVC_WEBAUTHN_RP_ID", host),
        origins: [...new Set(origins)],
        smtpUrl,
        mailFrom,
        mailReplyTo
      })
    })
  )
}
