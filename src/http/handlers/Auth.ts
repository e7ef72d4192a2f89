import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { StepUpRequired } from "../../domain/errors.ts"
import { isoTime } from "../../domain/text/IsoTime.ts"
import { sessionListRecord, sessionRecord } from "../../domain/identity/SessionRecord.ts"
import { type Done, Mfa } from "../../services/identity/Mfa.ts"
import { Sessions } from "../../services/identity/Sessions.ts"
import { SignIn } from "../../services/identity/SignIn.ts"
import { Api } from "../Api.ts"
import { relay, signedIn, signedOut } from "../access/SessionCookies.ts"
import { CurrentVisit } from "../access/Visit.ts"
import { success } from "../wire/Body.ts"

/** What was done, and its cookies with the answer. */
const answer = Effect.fnUntraced(function* <A>({ cookies, credential, value }: Done<A>) {
  const { secure } = yield* CurrentVisit
  yield* relay(credential, cookies, secure)
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

    /** As who comes. */
    const as = <A, E>(use: (visitor: CurrentVisit["Service"]["visitor"]) => Effect.Effect<Done<A>, E>) =>
      Effect.flatMap(CurrentVisit, ({ visitor }) => Effect.flatMap(use(visitor), answer))

    return handlers.handleAll({
      mfaStatus: () => as(mfa.status),
      totpSetup: () => as(mfa.beginTotp),
      totpVerify: ({ payload }) =>
        Effect.as(
          as((visitor) => mfa.confirmTotp(visitor, payload.flow_id, payload.totp_code)),
          success
        ),
      totpRemove: () => Effect.map(as(mfa.removeTotp), removed),
      webauthnSetup: () => as(mfa.beginWebAuthn),
      webauthnVerify: ({ payload }) =>
        Effect.as(
          as((visitor) =>
            mfa.confirmWebAuthn(
              visitor,
              payload.flow_id,
              payload.webauthn_register,
              payload.webauthn_register_displayname?.trim() || "Security Key"
            )
          ),
          success
        ),
      webauthnRemove: ({ payload }) =>
        Effect.map(
          as((visitor) => mfa.removeWebAuthn(visitor, payload?.credential_id)),
          removed
        ),
      recoveryCodesGenerate: () => as(mfa.beginRecoveryCodes),
      recoveryCodesConfirm: ({ payload }) =>
        Effect.as(
          as((visitor) => mfa.confirmRecoveryCodes(visitor, payload.flow_id)),
          success
        ),
      recoveryCodesRemove: () => Effect.as(as(mfa.removeRecoveryCodes), success),

      passkeyOptions: () => signIn.beginPasskey,
      passkeyLogin: Effect.fnUntraced(function* ({ payload }) {
        const { from, secure, visitor } = yield* CurrentVisit
        const { cookies, outcome } = yield* signIn.passkey(visitor, from, payload.flow_id, payload.passkey_login)
        yield* signedIn(cookies, secure)
        return outcome instanceof StepUpRequired ? yield* outcome : { session: sessionRecord(outcome) }
      }),
      recovery: () =>
        Effect.map(signIn.beginRecovery, ({ expiresAt, id }) => ({
          id,
          state: "choose_method" as const,
          expires_at: isoTime(expiresAt)
        })),
      recoverySend: Effect.fnUntraced(function* ({ payload }) {
        const { from } = yield* CurrentVisit
        yield* signIn.recover(from, payload.flowId, payload.email)
        return { ...success, state: "sent_email" as const }
      }),

      session: () =>
        as((visitor) =>
          Effect.map(sessions.current(visitor), ({ admin, cookies, credential, session }) => ({
            value: { ...sessionRecord(session), admin },
            credential,
            cookies
          }))
        ),
      sessions: () =>
        Effect.flatMap(CurrentVisit, ({ visitor }) =>
          Effect.map(signIn.sessions(visitor), (all) => all.map(sessionListRecord))
        ),
      sessionsRevoke: () =>
        Effect.flatMap(CurrentVisit, ({ visitor }) =>
          Effect.map(signIn.revokeOthers(visitor), (revoked) => ({ ...success, revoked }))
        ),
      sessionRevoke: ({ params }) =>
        Effect.flatMap(CurrentVisit, ({ visitor }) => Effect.as(signIn.revoke(visitor, params.id), success)),
      logout: Effect.fnUntraced(function* () {
        const { secure, visitor } = yield* CurrentVisit
        yield* signIn.logout(visitor)
        yield* signedOut(secure)
        return success
      })
    })
  })
)
