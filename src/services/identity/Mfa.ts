import { Context, Effect, Layer, Redacted } from "effect"
import { accountOf } from "../../domain/identity/AccountTraits.ts"
import { InvalidRequest, NotFound, type TooManyRequests } from "../../domain/errors.ts"
import { type Credential } from "../../domain/identity/Identity.ts"
import { isoTime } from "../../domain/text/IsoTime.ts"
import { type MfaStatus } from "../../domain/identity/MfaStatus.ts"
import { otpauthUri } from "../../domain/identity/Otpauth.ts"
import { type Visitor } from "../../domain/identity/Visitor.ts"
import { webAuthnIds } from "../../domain/identity/WebAuthnId.ts"
import { GuessLimits } from "./GuessLimits.ts"
import { type FlowTrouble, IdP, type RelayedCookies, type SessionTrouble } from "../ports/IdP.ts"
import { Sessions, type SignedIn } from "./Sessions.ts"

/** What was done as somebody, and what their browser must keep of it. */
export interface Done<A> {
  readonly value: A
  readonly credential: Credential
  readonly cookies: RelayedCookies
}

type Doing<A, E = never> = Effect.Effect<Done<A>, FlowTrouble | E>

/** Second factors of who is signed in (spec: Multi-factor and sign-in). */
export class Mfa extends Context.Service<
  Mfa,
  {
    readonly status: (visitor: Visitor) => Effect.Effect<Done<MfaStatus>, SessionTrouble | NotFound>
    readonly beginTotp: (
      visitor: Visitor
    ) => Doing<{ readonly flow_id: string; readonly totp_url: string; readonly totp_secret: string }>
    readonly confirmTotp: (visitor: Visitor, flowId: string, code: string) => Doing<void, TooManyRequests>
    /** Whether recovery codes went with it: alone they would go on asking for a second factor that is none. */
    readonly removeTotp: (visitor: Visitor) => Doing<{ readonly recoveryCodesRemoved: boolean }>
    readonly beginWebAuthn: (
      visitor: Visitor
    ) => Doing<{ readonly flow_id: string; readonly webauthn_options: { readonly publicKey: unknown } }>
    readonly confirmWebAuthn: (
      visitor: Visitor,
      flowId: string,
      attestation: string,
      displayName: string
    ) => Doing<void>
    /** `id` as text in base64url, base64 or hex; without one all keys are removed. */
    readonly removeWebAuthn: (
      visitor: Visitor,
      id: string | undefined
    ) => Doing<{ readonly recoveryCodesRemoved: boolean }>
    readonly beginRecoveryCodes: (
      visitor: Visitor
    ) => Doing<{ readonly flow_id: string; readonly codes: ReadonlyArray<string> }>
    readonly confirmRecoveryCodes: (visitor: Visitor, flowId: string) => Doing<void, TooManyRequests>
    readonly removeRecoveryCodes: (visitor: Visitor) => Doing<void>
  }
>()("svc/services/Mfa") {
  static readonly layer = Layer.effect(
    Mfa,
    Effect.gen(function* () {
      const idp = yield* IdP
      const sessions = yield* Sessions
      const limits = yield* GuessLimits

      /** As somebody we know. */
      const known = <A, E>(visitor: Visitor, use: (signedIn: SignedIn) => Effect.Effect<A, E>) =>
        Effect.flatMap(sessions.current(visitor), (signedIn) =>
          Effect.map(sessions.withWayBack(visitor, use(signedIn)), (value) => ({ value, signedIn }))
        )

      const changed = (visitor: Visitor, use: (signedIn: SignedIn) => Effect.Effect<RelayedCookies, FlowTrouble>) =>
        Effect.tap(known(visitor, use), ({ signedIn }) => sessions.forget(signedIn.credential))

      const held = <A, E>(visitor: Visitor, use: (credential: Credential) => Effect.Effect<A, E>) =>
        sessions.holding(visitor, use)

      const heldChange = (
        visitor: Visitor,
        use: (credential: Credential) => Effect.Effect<RelayedCookies, FlowTrouble>
      ) =>
        held(visitor, use).pipe(
          Effect.tap(({ credential }) => sessions.forget(credential)),
          Effect.map(({ credential, value }) => ({ value: undefined, credential, cookies: value }))
        )

      /** After a factor has gone: recovery codes are worth nothing without one. */
      const withoutLeftovers = Effect.fn("Mfa.withoutLeftovers")(
        function* ({ credential, session }: SignedIn, cookies: RelayedCookies) {
          const { recoveryCodes, totp, webauthn } = yield* idp.factors(session.identity.id)
          if (totp || webauthn.length > 0 || recoveryCodes.count === 0) {
            return { value: { recoveryCodesRemoved: false }, credential, cookies }
          }
          const later = yield* idp.removeRecoveryCodes(credential)
          return { value: { recoveryCodesRemoved: true }, credential, cookies: [...cookies, ...later] }
        },
        // The factor itself has gone by then: that much was done, and is said.
        (effect, { credential }, cookies) =>
          Effect.catch(effect, (error) =>
            Effect.as(Effect.logWarning(`Recovery codes were left behind a second factor: ${error.code}`), {
              value: { recoveryCodesRemoved: false },
              credential,
              cookies
            })
          )
      )

      const done = ({ signedIn, value }: { signedIn: SignedIn; value: RelayedCookies }): Done<void> => ({
        value: undefined,
        credential: signedIn.credential,
        cookies: [...signedIn.cookies, ...value]
      })

      /** What a text of an id may mean, until one of them is found. */
      const removeKey = (credential: Credential, id: string): Effect.Effect<RelayedCookies, FlowTrouble> => {
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
        status: Effect.fn("Mfa.status")(function* (visitor) {
          const { credential, cookies, session } = yield* sessions.current(visitor)
          const { recoveryCodes, totp, webauthn } = yield* idp.factors(session.identity.id)
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

        beginTotp: Effect.fn("Mfa.beginTotp")(function* (visitor) {
          const { signedIn, value } = yield* known(visitor, ({ credential }) => idp.beginTotp(credential))
          const secret = Redacted.value(value.secret)
          const account = accountOf(signedIn.session.identity)
          return {
            value: {
              flow_id: value.flowId,
              totp_url: otpauthUri({ issuer: value.issuer, account, secret }),
              totp_secret: secret
            },
            credential: signedIn.credential,
            cookies: [...signedIn.cookies, ...value.cookies]
          }
        }),
        confirmTotp: Effect.fn("Mfa.confirmTotp")(function* (visitor, flowId, code) {
          const { session } = yield* sessions.current(visitor)
          yield* limits.take("code", session.id)
          return done(yield* changed(visitor, ({ credential }) => idp.confirmTotp(credential, flowId, code)))
        }),
        removeTotp: Effect.fn("Mfa.removeTotp")(function* (visitor) {
          const { signedIn, value } = yield* changed(visitor, ({ credential }) => idp.removeTotp(credential))
          return yield* withoutLeftovers(signedIn, value)
        }),

        beginWebAuthn: Effect.fn("Mfa.beginWebAuthn")(function* (visitor) {
          const { credential, value } = yield* held(visitor, idp.beginWebAuthn)
          return {
            value: { flow_id: value.flowId, webauthn_options: value.options },
            credential,
            cookies: value.cookies
          }
        }),
        confirmWebAuthn: (visitor, flowId, attestation, displayName) =>
          heldChange(visitor, (credential) => idp.confirmWebAuthn(credential, flowId, attestation, displayName)),
        removeWebAuthn: Effect.fn("Mfa.removeWebAuthn")(function* (visitor, id) {
          const { signedIn, value } = yield* changed(visitor, ({ credential }) =>
            id === undefined ? idp.removeWebAuthn(credential, undefined) : removeKey(credential, id)
          )
          return yield* withoutLeftovers(signedIn, value)
        }),

        beginRecoveryCodes: Effect.fn("Mfa.beginRecoveryCodes")(function* (visitor) {
          const { credential, value } = yield* held(visitor, idp.beginRecoveryCodes)
          return { value: { flow_id: value.flowId, codes: value.codes }, credential, cookies: value.cookies }
        }),
        confirmRecoveryCodes: Effect.fn("Mfa.confirmRecoveryCodes")(function* (visitor, flowId) {
          const { session } = yield* sessions.current(visitor)
          yield* limits.take("code", session.id)
          return done(yield* changed(visitor, ({ credential }) => idp.confirmRecoveryCodes(credential, flowId)))
        }),
        removeRecoveryCodes: (visitor) => heldChange(visitor, idp.removeRecoveryCodes)
      })
    })
  )
}
