import { Context, Effect, Layer, Redacted } from "effect"
import { InvalidRequest, NotFound, type TooManyRequests } from "../../domain/errors.ts"
import { accountOf, type Browser, type Credential } from "../../domain/identity/Identity.ts"
import { type MfaStatus, otpauthUri, webAuthnIds } from "../../domain/identity/SecondFactors.ts"
import { isoTime } from "../../domain/text/IsoTime.ts"
import { isJsonObject } from "../../domain/text/JsonObject.ts"
import { type FlowError, IdP, type RelayedCookies, type SessionError } from "../ports/IdP.ts"
import { makeAttemptLimit } from "./AttemptLimits.ts"
import { Counts } from "../ports/workers/Counts.ts"
import { type Session, Sessions } from "./Sessions.ts"

/** The result of a call made with a credential, and the cookies that the identity provider set. */
export interface SessionResult<A> {
  readonly value: A
  readonly credential: Credential
  readonly cookies: RelayedCookies
}

type MfaCall<A, E = never> = Effect.Effect<SessionResult<A>, FlowError | E>

/** The second factors of a signed-in user (spec: Multi-factor and sign-in). */
export class Mfa extends Context.Service<
  Mfa,
  {
    readonly status: (browser: Browser) => Effect.Effect<SessionResult<MfaStatus>, SessionError | NotFound>
    readonly beginTotp: (
      browser: Browser
    ) => MfaCall<{ readonly flow_id: string; readonly totp_url: string; readonly totp_secret: string }>
    readonly confirmTotp: (browser: Browser, flowId: string, code: string) => MfaCall<void, TooManyRequests>
    /** Removes the factor, and recovery codes that would be left alone: they would still require a second factor. */
    readonly removeTotp: (browser: Browser) => MfaCall<{ readonly recoveryCodesRemoved: boolean }>
    readonly beginWebAuthn: (
      browser: Browser
    ) => MfaCall<{ readonly flow_id: string; readonly webauthn_options: { readonly publicKey: unknown } }>
    readonly confirmWebAuthn: (
      browser: Browser,
      flowId: string,
      attestation: string,
      displayName: string
    ) => MfaCall<void>
    /** `id` in base64url, base64 or hex; undefined removes all keys. */
    readonly removeWebAuthn: (
      browser: Browser,
      id: string | undefined
    ) => MfaCall<{ readonly recoveryCodesRemoved: boolean }>
    readonly beginRecoveryCodes: (
      browser: Browser
    ) => MfaCall<{ readonly flow_id: string; readonly codes: ReadonlyArray<string> }>
    readonly confirmRecoveryCodes: (browser: Browser, flowId: string) => MfaCall<void>
    readonly removeRecoveryCodes: (browser: Browser) => MfaCall<void>
  }
>()("svc/services/Mfa") {
  static readonly layer = Layer.effect(
    Mfa,
    Effect.gen(function* () {
      const idp = yield* IdP
      const sessions = yield* Sessions
      const limitAttempts = makeAttemptLimit((yield* Counts).windows("second-factors"))

      const changeWithSession = (
        browser: Browser,
        use: (session: Session) => Effect.Effect<RelayedCookies, FlowError>
      ) => Effect.tap(sessions.withSession(browser, use), ({ session }) => sessions.invalidate(session.credential))

      const change = (browser: Browser, use: (credential: Credential) => Effect.Effect<RelayedCookies, FlowError>) =>
        sessions.withCredential(browser, use).pipe(
          Effect.tap(({ credential }) => sessions.invalidate(credential)),
          Effect.map(({ credential, value }) => ({ value: undefined, credential, cookies: value }))
        )

      /** Removes the recovery codes once the last factor is gone: they are useless without one. */
      const removeLeftoverCodes = Effect.fn("Mfa.removeLeftoverCodes")(
        function* ({ credential, identity }: Session, cookies: RelayedCookies) {
          const { recoveryCodes, totp, webauthn } = yield* idp.factors(identity.id)
          if (totp || webauthn.length > 0 || recoveryCodes.count === 0) {
            return { value: { recoveryCodesRemoved: false }, credential, cookies }
          }
          const later = yield* idp.removeRecoveryCodes(credential)
          return { value: { recoveryCodesRemoved: true }, credential, cookies: [...cookies, ...later] }
        },
        // The factor itself has been removed by then, so the call succeeds.
        (effect, { credential }, cookies) =>
          Effect.catch(effect, (error) =>
            Effect.as(
              Effect.logWarning(`Failed to remove the recovery codes after the last second factor: ${error.code}`),
              {
                value: { recoveryCodesRemoved: false },
                credential,
                cookies
              }
            )
          )
      )

      const resultOf = ({ session, value }: { session: Session; value: RelayedCookies }): SessionResult<void> => ({
        value: undefined,
        credential: session.credential,
        cookies: [...session.cookies, ...value]
      })

      /** Tries the possible readings of an id until one is found. */
      const removeKey = (credential: Credential, id: string): Effect.Effect<RelayedCookies, FlowError> => {
        const [first, ...others] = webAuthnIds(id)
        if (first === undefined) {
          return Effect.fail(new InvalidRequest({ error: "credential_id must be base64url, base64 or hex" }))
        }
        return others.reduce(
          (tried, bytes) =>
            Effect.catchIf(
              tried,
              (error) => error instanceof NotFound,
              () => idp.removeWebAuthn(credential, bytes)
            ),
          idp.removeWebAuthn(credential, first)
        )
      }

      return Mfa.of({
        status: Effect.fn("Mfa.status")(function* (browser) {
          const { cookies, credential, identity } = yield* sessions.current(browser)
          const { recoveryCodes, totp, webauthn } = yield* idp.factors(identity.id)
          const value: MfaStatus = {
            totp,
            webauthn: webauthn.length > 0,
            webauthn_credentials: webauthn.map(({ addedAt, displayName, id }) => ({
              id,
              display_name: displayName,
              added_at: isoTime(addedAt)
            })),
            lookup_secret: recoveryCodes.count > 0,
            lookup_secrets_count: recoveryCodes.count,
            lookup_secrets_used: recoveryCodes.used
          }
          return { value, credential, cookies }
        }),

        beginTotp: Effect.fn("Mfa.beginTotp")(function* (browser) {
          const { session, value } = yield* sessions.withSession(browser, ({ credential }) => idp.beginTotp(credential))
          const secret = Redacted.value(value.secret)
          const account = accountOf(session.identity)
          return {
            value: {
              flow_id: value.flowId,
              totp_url: otpauthUri({ issuer: value.issuer, account, secret }),
              totp_secret: secret
            },
            credential: session.credential,
            cookies: [...session.cookies, ...value.cookies]
          }
        }),
        confirmTotp: Effect.fn("Mfa.confirmTotp")(function* (browser, flowId, code) {
          const { id } = yield* sessions.current(browser)
          yield* limitAttempts(id)
          return resultOf(
            yield* changeWithSession(browser, ({ credential }) => idp.confirmTotp(credential, flowId, code))
          )
        }),
        removeTotp: Effect.fn("Mfa.removeTotp")(function* (browser) {
          const { session, value } = yield* changeWithSession(browser, ({ credential }) => idp.removeTotp(credential))
          return yield* removeLeftoverCodes(session, value)
        }),

        beginWebAuthn: Effect.fn("Mfa.beginWebAuthn")(function* (browser) {
          const { session, value } = yield* sessions.withSession(browser, ({ credential }) =>
            idp.beginWebAuthn(credential)
          )
          const { credential, identity } = session
          return {
            value: {
              flow_id: value.flowId,
              webauthn_options: { publicKey: withAccount(value.options.publicKey, accountOf(identity)) }
            },
            credential,
            cookies: [...session.cookies, ...value.cookies]
          }
        }),
        confirmWebAuthn: (browser, flowId, attestation, displayName) =>
          change(browser, (credential) => idp.confirmWebAuthn(credential, flowId, attestation, displayName)),
        removeWebAuthn: Effect.fn("Mfa.removeWebAuthn")(function* (browser, id) {
          const { session, value } = yield* changeWithSession(browser, ({ credential }) =>
            id === undefined ? idp.removeWebAuthn(credential, undefined) : removeKey(credential, id)
          )
          return yield* removeLeftoverCodes(session, value)
        }),

        beginRecoveryCodes: Effect.fn("Mfa.beginRecoveryCodes")(function* (browser) {
          const { credential, value } = yield* sessions.withCredential(browser, idp.beginRecoveryCodes)
          return { value: { flow_id: value.flowId, codes: value.codes }, credential, cookies: value.cookies }
        }),
        confirmRecoveryCodes: (browser, flowId) =>
          change(browser, (credential) => idp.confirmRecoveryCodes(credential, flowId)),
        removeRecoveryCodes: (browser) => change(browser, idp.removeRecoveryCodes)
      })
    })
  )
}

/** Names the account in the options of a new key: browsers show that name, and providers leave it out. */
const withAccount = (publicKey: unknown, account: string): unknown => {
  if (!isJsonObject(publicKey) || !isJsonObject(publicKey["user"])) return publicKey
  return { ...publicKey, user: { ...publicKey["user"], name: account, displayName: account } }
}
