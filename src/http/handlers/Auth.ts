import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { StepUpRequired } from "../../domain/errors.ts"
import { isoTime } from "../../domain/text/IsoTime.ts"
import { Mfa, type SessionResult } from "../../services/identity/Mfa.ts"
import { Sessions } from "../../services/identity/Sessions.ts"
import { SignIn } from "../../services/identity/SignIn.ts"
import { Api } from "../Api.ts"
import { CurrentBrowser } from "../access/BrowserRequests.ts"
import { clearSessionCookies, relayCookies, setSignInCookies } from "../access/cookies/SessionCookies.ts"
import { success } from "../wire/Body.ts"

/** The value of a result, after passing its cookies on. */
const answer = Effect.fnUntraced(function* <A>({ cookies, credential, value }: SessionResult<A>) {
  const { secure } = yield* CurrentBrowser
  yield* relayCookies(credential, cookies, secure)
  return value
})

const removed = ({ recoveryCodesRemoved }: { readonly recoveryCodesRemoved: boolean }) => ({
  ...success,
  recovery_codes_removed: recoveryCodesRemoved
})

export const AuthHandlers = HttpApiBuilder.group(
  Api,
  "auth",
  Effect.fn(function* (handlers) {
    const mfa = yield* Mfa
    const signIn = yield* SignIn
    const sessions = yield* Sessions

    /** Makes a call for the browser that sent the request. */
    const forBrowser = <A, E>(use: (browser: CurrentBrowser["Service"]) => Effect.Effect<SessionResult<A>, E>) =>
      Effect.flatMap(CurrentBrowser, (browser) => Effect.flatMap(use(browser), answer))

    return handlers.handleAll({
      mfaStatus: () => forBrowser(mfa.status),
      totpSetup: () => forBrowser(mfa.beginTotp),
      totpVerify: ({ payload }) =>
        Effect.as(
          forBrowser((browser) => mfa.confirmTotp(browser, payload.flow_id, payload.totp_code)),
          success
        ),
      totpRemove: () => Effect.map(forBrowser(mfa.removeTotp), removed),
      webauthnSetup: () => forBrowser(mfa.beginWebAuthn),
      webauthnVerify: ({ payload }) =>
        Effect.as(
          forBrowser((browser) =>
            mfa.confirmWebAuthn(
              browser,
              payload.flow_id,
              payload.webauthn_register,
              payload.webauthn_register_displayname?.trim() || "Security Key"
            )
          ),
          success
        ),
      webauthnRemove: ({ payload }) =>
        Effect.map(
          forBrowser((browser) => mfa.removeWebAuthn(browser, payload?.credential_id)),
          removed
        ),
      recoveryCodesGenerate: () => forBrowser(mfa.beginRecoveryCodes),
      recoveryCodesConfirm: ({ payload }) =>
        Effect.as(
          forBrowser((browser) => mfa.confirmRecoveryCodes(browser, payload.flow_id)),
          success
        ),
      recoveryCodesRemove: () => Effect.as(forBrowser(mfa.removeRecoveryCodes), success),

      passkeyOptions: () => signIn.beginPasskey,
      passkeyLogin: Effect.fnUntraced(function* ({ payload }) {
        const browser = yield* CurrentBrowser
        const { flow_id, passkey_login, token = false } = payload
        if (token) {
          const signedIn = yield* signIn.passkeyOfApp(browser.address, flow_id, passkey_login)
          const session_token = Redacted.value(signedIn.credential.value)
          if (signedIn.session !== null) return { session: signedIn.session, session_token }
          const { code, error, redirect_to } = signedIn.stepUp ?? (yield* Effect.die("A half session has a step due"))
          return yield* new StepUpRequired({ code, error, redirect_to, session_token })
        }
        const { cookies, outcome } = yield* signIn.passkey(browser, browser.address, flow_id, passkey_login)
        yield* setSignInCookies(cookies, browser.secure)
        return outcome instanceof StepUpRequired ? yield* outcome : { session: outcome }
      }),
      recovery: () =>
        Effect.map(signIn.beginRecovery, ({ expiresAt, id }) => ({
          id,
          state: "choose_method" as const,
          expires_at: isoTime(expiresAt)
        })),
      recoverySend: Effect.fnUntraced(function* ({ payload }) {
        const { address } = yield* CurrentBrowser
        yield* signIn.recover(address, payload.flowId, payload.email)
        return { ...success, state: "sent_email" as const }
      }),

      session: () =>
        forBrowser((browser) =>
          Effect.map(sessions.current(browser), ({ cookies, credential, ...value }) => ({ value, credential, cookies }))
        ),
      sessions: () => Effect.flatMap(CurrentBrowser, (browser) => signIn.sessions(browser)),
      sessionsRevoke: () =>
        Effect.flatMap(CurrentBrowser, (browser) =>
          Effect.map(signIn.revokeOthers(browser), (revoked) => ({ ...success, revoked }))
        ),
      sessionRevoke: ({ params }) =>
        Effect.flatMap(CurrentBrowser, (browser) => Effect.as(signIn.revoke(browser, params.id), success)),
      logout: Effect.fnUntraced(function* () {
        const browser = yield* CurrentBrowser
        yield* signIn.logout(browser)
        yield* clearSessionCookies(browser.secure)
        return success
      })
    })
  })
)
