import { Context, Effect, Layer } from "effect"
import {
  BadGateway,
  InvalidRequest,
  type NotFound,
  type StepUpRequired,
  type TooManyRequests
} from "../../domain/errors.ts"
import {
  type Browser,
  type Credential,
  type IdentitySession,
  type SessionSummary
} from "../../domain/identity/Identity.ts"
import { type AccountError, Accounts, type SignedIn } from "../ports/identity/Accounts.ts"
import { type FlowError, IdP, type IdPError, type RelayedCookies, type SessionError } from "../ports/IdP.ts"
import { makeAttemptLimit, makeFailureLimit } from "./AttemptLimits.ts"
import { Counts } from "../ports/workers/Counts.ts"
import { paced } from "./Pace.ts"
import { Sessions } from "./Sessions.ts"

/** Recoveries of one e-mail address in any 60 seconds, from whatever clients: each may send a message. */
const recipientLimit = 3

/** Passkeys, recovery by e-mail, the user's sessions, sign-out (spec: Multi-factor and sign-in). */
export class SignIn extends Context.Service<
  SignIn,
  {
    readonly beginPasskey: Effect.Effect<
      { readonly flow_id: string; readonly passkey_options: { readonly publicKey: unknown } },
      FlowError
    >
    /** A StepUpRequired: signed in, but a second factor is still required. `address`: the client's. */
    readonly passkey: (
      browser: Browser,
      address: string,
      flowId: string,
      assertion: string
    ) => Effect.Effect<
      { readonly outcome: IdentitySession | StepUpRequired; readonly cookies: RelayedCookies },
      FlowError | TooManyRequests
    >
    /** Signs in an app without cookies, which gets the session's token; only if the accounts are this service's. */
    readonly passkeyOfApp: (address: string, flowId: string, assertion: string) => Effect.Effect<SignedIn, AccountError>
    readonly beginRecovery: Effect.Effect<{ readonly id: string; readonly expiresAt: string | null }, FlowError>
    /** The answer and its timing are the same for every e-mail address. */
    readonly recover: (
      address: string,
      flowId: string,
      email: string
    ) => Effect.Effect<void, FlowError | TooManyRequests>
    /** The current one first. */
    readonly sessions: (browser: Browser) => Effect.Effect<ReadonlyArray<SessionSummary>, SessionError>
    /** Ends another session of the user, never the current one. */
    readonly revoke: (browser: Browser, id: string) => Effect.Effect<void, SessionError | NotFound | InvalidRequest>
    /** Ends all sessions but the current one; returns how many. */
    readonly revokeOthers: (browser: Browser) => Effect.Effect<number, SessionError>
    /** Ends the session of every credential; one that has already ended is not an error. */
    readonly logout: (browser: Browser) => Effect.Effect<void, IdPError | StepUpRequired>
  }
>()("svc/services/SignIn") {
  static readonly layer = Layer.effect(
    SignIn,
    Effect.gen(function* () {
      const idp = yield* IdP
      const accounts = yield* Accounts
      const sessions = yield* Sessions
      const counts = yield* Counts
      const limitPasskeys = makeFailureLimit(counts.windows("passkeys"))
      const limitRecovery = makeAttemptLimit(counts.windows("recoveries"))
      const limitRecipient = makeAttemptLimit(counts.windows("recovery-addresses"), recipientLimit)

      const others = (credential: Credential) =>
        Effect.map(idp.sessions(credential), (all) => all.filter(({ current }) => !current))

      return SignIn.of({
        beginPasskey: Effect.map(idp.beginPasskeyLogin, ({ flowId, options }) => ({
          flow_id: flowId,
          passkey_options: options
        })),

        passkey: Effect.fn("SignIn.passkey")(function* (browser, address, flowId, assertion) {
          const { cookies, session, stepUp } = yield* limitPasskeys(address, idp.passkeyLogin(flowId, assertion))
          const outcome = stepUp ?? session
          if (outcome === null) return yield* new BadGateway({ error: "The identity provider returned no session" })
          yield* sessions.replace(browser.credentials, "Cookie")
          return { outcome: stepUp === null ? outcome : yield* sessions.withReturnUrl(browser, stepUp), cookies }
        }),
        passkeyOfApp: Effect.fn("SignIn.passkeyOfApp")(function* (address, flowId, assertion) {
          const { signInByPasskey } = yield* accounts.calls
          return yield* limitPasskeys(address, signInByPasskey(flowId, assertion, "Token"))
        }),

        beginRecovery: idp.beginRecovery,
        recover: Effect.fn("SignIn.recover")(function* (address, flowId, email) {
          yield* limitRecovery(address)
          yield* limitRecipient(email.toLowerCase())
          yield* paced(idp.recover(flowId, email))
        }),

        sessions: (browser) => Effect.map(sessions.withCredential(browser, idp.sessions), ({ value }) => value),

        revoke: Effect.fn("SignIn.revoke")(function* (browser, id) {
          const current = yield* sessions.current(browser)
          if (current.id === id) {
            return yield* new InvalidRequest({
              error: "This is the current session; use POST /api/auth/logout to end it",
              code: "CURRENT_SESSION"
            })
          }
          const { credential } = yield* sessions.withCredential(browser, (credential) =>
            idp.revokeSession(credential, id)
          )
          yield* sessions.invalidate(credential)
        }),
        revokeOthers: Effect.fn("SignIn.revokeOthers")(function* (browser) {
          yield* sessions.current(browser)
          const { credential, value } = yield* sessions.withCredential(browser, (credential) =>
            Effect.flatMap(others(credential), (all) =>
              Effect.as(
                Effect.forEach(
                  all,
                  // The session may have ended in the meantime.
                  ({ id }) => Effect.catchTag(idp.revokeSession(credential, id), "NotFound", () => Effect.void),
                  { concurrency: 4, discard: true }
                ),
                all.length
              )
            )
          )
          yield* sessions.invalidate(credential)
          return value
        }),

        logout: Effect.fn("SignIn.logout")(function* (browser) {
          yield* Effect.forEach(browser.credentials, sessions.end, { discard: true })
        })
      })
    })
  )
}
