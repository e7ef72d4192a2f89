import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { StepUpRequired } from "../../domain/errors.ts"
import { type Credential } from "../../domain/identity/Identity.ts"
import { OwnSigningKeys } from "../../services/access/OwnSigningKeys.ts"
import { type Session, Sessions } from "../../services/identity/Sessions.ts"
import { SessionTokens } from "../../services/identity/SessionTokens.ts"
import {
  type AccountCalls,
  type AccountError,
  Accounts,
  type MailProof,
  type SignedIn
} from "../../services/ports/identity/Accounts.ts"
import { CurrentBrowser } from "../access/BrowserRequests.ts"
import { clearSessionCookies, relayCookies, setSignInCookies } from "../access/cookies/SessionCookies.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

const kindOf = (token: boolean | undefined): Credential["_tag"] => (token === true ? "Token" : "Cookie")

const proofOf = (given: { readonly code: string } | { readonly token: string }): MailProof =>
  "code" in given ? { code: given.code } : { token: given.token }

const sent = ({ flowId }: { readonly flowId: string }) => ({ state: "sent_email" as const, flowId })

export const AccountsHandlers = HttpApiBuilder.group(
  Api,
  "accounts",
  Effect.fn(function* (handlers) {
    const accounts = yield* Accounts
    const sessions = yield* Sessions
    const tokens = yield* SessionTokens

    const call = <A>(use: (calls: AccountCalls) => Effect.Effect<A, AccountError>) =>
      Effect.flatMap(accounts.calls, use)

    /** The response to a session, new or changed: a cookie or a token; 403 if it still needs a second factor. */
    const answered = Effect.fnUntraced(function* ({ cookies, credential, session, stepUp }: SignedIn) {
      const browser = yield* CurrentBrowser
      const ofToken = credential._tag === "Token" ? { session_token: Redacted.value(credential.value) } : {}
      if (stepUp !== null) {
        const due = yield* sessions.withReturnUrl(browser, stepUp)
        const { code, error, redirect_to } = due
        return yield* new StepUpRequired({ error, code, redirect_to, ...ofToken })
      }
      if (session === null) return yield* Effect.die("A session without a second factor due is complete")
      if (credential._tag === "Cookie") yield* setSignInCookies(cookies, browser.secure)
      return { session, ...ofToken }
    })
    /** The response to a sign-in. */
    const began = Effect.fnUntraced(function* (signedIn: SignedIn) {
      const { credentials, secure } = yield* CurrentBrowser
      yield* sessions.replace(credentials, signedIn.credential._tag)
      // The cookie is set even if a second factor is still due.
      if (signedIn.credential._tag === "Cookie") yield* setSignInCookies(signedIn.cookies, secure)
      return yield* answered(signedIn)
    })

    /** Makes a call that requires a complete session. */
    const own = Effect.fnUntraced(function* <A>(
      use: (calls: AccountCalls, session: Session) => Effect.Effect<A, AccountError>
    ) {
      const [browser, calls] = [yield* CurrentBrowser, yield* accounts.calls]
      return (yield* sessions.withSession(browser, (session) => use(calls, session))).value
    })
    /** Makes a call that changes the session or its identity. */
    const change = Effect.fnUntraced(function* <A>(
      use: (calls: AccountCalls, credential: Credential) => Effect.Effect<A, AccountError>
    ) {
      const [browser, calls] = [yield* CurrentBrowser, yield* accounts.calls]
      return (yield* sessions.change(browser, (credential) => use(calls, credential))).value
    })
    /** Makes a call for a session that may need a second factor. The client's cookie or token stays the same. */
    const half = Effect.fnUntraced(function* <A>(
      use: (calls: AccountCalls, credential: Credential) => Effect.Effect<A, AccountError>
    ) {
      const [browser, calls] = [yield* CurrentBrowser, yield* accounts.calls]
      return yield* sessions.changeHalf(browser, (credential) => use(calls, credential))
    })
    const completed = ({ credential, value }: { readonly credential: Credential; readonly value: SignedIn }) =>
      Effect.gen(function* () {
        const { secure } = yield* CurrentBrowser
        yield* relayCookies(credential, value.cookies, secure)
        const { session } = value
        if (session !== null) return { session }
        return yield* Effect.map(answered(value), ({ session }) => ({ session }))
      })

    return handlers.handleAll({
      methods: () => call(({ methods }) => Effect.succeed(methods)),
      register: Effect.fnUntraced(function* ({ payload: { email, password, token, traits = {} } }) {
        const result = yield* call((calls) => calls.register({ email, password, traits, kind: kindOf(token) }))
        return "flowId" in result ? sent(result) : yield* began(result)
      }),
      login: ({ payload: { identifier, password, token } }) =>
        Effect.flatMap(
          call((calls) => calls.signIn({ identifier, password, kind: kindOf(token) })),
          began
        ),
      factor: () =>
        Effect.map(
          half((calls, credential) => calls.dueFactors(credential)),
          ({ value: { recoveryCodes, totp, webauthn } }) => ({
            totp,
            webauthn: webauthn && { flow_id: webauthn.flowId, options: webauthn.options },
            recovery_codes: recoveryCodes
          })
        ),
      showFactor: ({ payload }) =>
        Effect.flatMap(
          half((calls, credential) =>
            calls.showFactor(
              credential,
              payload.method === "webauthn"
                ? { method: "webauthn", flowId: payload.flow_id, assertion: payload.assertion }
                : payload
            )
          ),
          completed
        ),
      reauthenticate: ({ payload }) =>
        Effect.flatMap(
          half((calls, credential) => calls.reauthenticate(credential, payload.password)),
          completed
        ),
      recoveryConfirm: Effect.fnUntraced(function* ({ payload }) {
        const kind = kindOf(payload.session_token)
        const result = yield* call((calls) => calls.confirmRecovery(payload.flowId, proofOf(payload), kind))
        return { ...(yield* began(result)), password_due: true as const }
      }),
      verification: ({ payload }) =>
        Effect.map(
          call((calls) => calls.verify(payload.email)),
          sent
        ),
      verificationConfirm: Effect.fnUntraced(function* ({ payload }) {
        const kind = kindOf(payload.session_token)
        const { credentials } = yield* CurrentBrowser
        const by = {
          credentials,
          ...("password" in payload && payload.password !== undefined ? { password: payload.password } : {})
        }
        const result = yield* call((calls) => calls.confirmVerification(payload.flowId, proofOf(payload), kind, by))
        return { ...success, session: null, ...(result === undefined ? {} : yield* began(result)) }
      }),
      accessToken: () =>
        Effect.flatMap(CurrentBrowser, (browser) =>
          Effect.map(tokens.issue(browser), ({ expiresIn, token }) => ({
            access_token: token,
            token_type: "Bearer" as const,
            expires_in: expiresIn
          }))
        ),

      password: ({ payload }) =>
        Effect.flatMap(
          change((calls, credential) => calls.setPassword(credential, payload.password)),
          (value) => completed({ credential: value.credential, value })
        ),
      account: () => own((_calls, { identity }) => Effect.succeed(identity)),
      setAccount: ({ payload }) => change((calls, credential) => calls.setTraits(credential, payload.traits)),
      removeAccount: Effect.fnUntraced(function* () {
        yield* change((calls, credential) => calls.remove(credential))
        yield* clearSessionCookies((yield* CurrentBrowser).secure)
        return success
      }),
      email: ({ payload }) =>
        Effect.map(
          own((calls, { credential }) => calls.changeEmail(credential, payload.email)),
          sent
        ),
      passkeys: () => own((calls, { credential }) => calls.passkeys(credential)),
      passkeySetup: () =>
        Effect.map(
          own((calls, { credential }) => calls.beginPasskey(credential)),
          ({ flowId, options }) => ({ flow_id: flowId, options })
        ),
      passkeyVerify: ({ payload: { credential: created, display_name = "", flow_id } }) =>
        change((calls, credential) => calls.confirmPasskey(credential, flow_id, created, display_name)),
      passkeyRename: ({ params, payload }) =>
        change((calls, credential) => calls.renamePasskey(credential, params.id, payload.display_name)),
      passkeyRemove: ({ params }) =>
        Effect.as(
          change((calls, credential) => calls.removePasskey(credential, params.id)),
          success
        )
    })
  })
)

export const SigningKeysHandlers = HttpApiBuilder.group(
  Api,
  "signingKeys",
  Effect.fn(function* (handlers) {
    const keys = yield* OwnSigningKeys
    return handlers.handleAll({ jwks: () => keys.publicSet })
  })
)
