import { Clock, Context, Effect, Layer } from "effect"
import {
  BadGateway,
  InvalidRequest,
  type NotFound,
  type StepUpRequired,
  type TooManyRequests
} from "../../domain/errors.ts"
import { type Credential, type IdentitySession, type SessionSummary } from "../../domain/identity/Identity.ts"
import { type Visitor } from "../../domain/identity/Visitor.ts"
import { GuessLimits } from "./GuessLimits.ts"
import { type FlowTrouble, IdP, type IdPTrouble, type RelayedCookies, type SessionTrouble } from "../ports/IdP.ts"
import { monotonicMillis } from "../access/RateLimits.ts"
import { Sessions } from "./Sessions.ts"

/** ms that answers about recovery come in steps of: how long the idp took would tell which addresses it knows. */
const pace = 250

/** Ways in and out: passkeys, recovery by mail, the sessions of who is signed in (spec: Multi-factor and sign-in). */
export class SignIn extends Context.Service<
  SignIn,
  {
    readonly beginPasskey: Effect.Effect<
      { readonly flow_id: string; readonly passkey_options: { readonly publicKey: unknown } },
      FlowTrouble
    >
    /** `due`: signed in, but a second factor is still to be shown. `from`: the client's address. */
    readonly passkey: (
      visitor: Visitor,
      from: string,
      flowId: string,
      assertion: string
    ) => Effect.Effect<
      { readonly outcome: IdentitySession | StepUpRequired; readonly cookies: RelayedCookies },
      FlowTrouble | TooManyRequests
    >
    readonly beginRecovery: Effect.Effect<{ readonly id: string; readonly expiresAt: string | null }, FlowTrouble>
    /** Says the same of every address, and after the same time. */
    readonly recover: (
      from: string,
      flowId: string,
      email: string
    ) => Effect.Effect<void, FlowTrouble | TooManyRequests>
    /** The current one first. */
    readonly sessions: (visitor: Visitor) => Effect.Effect<ReadonlyArray<SessionSummary>, SessionTrouble>
    /** Ends another session of the same person: not the current one. */
    readonly revoke: (visitor: Visitor, id: string) => Effect.Effect<void, SessionTrouble | NotFound | InvalidRequest>
    /** Ends all but the current one; says how many. */
    readonly revokeOthers: (visitor: Visitor) => Effect.Effect<number, SessionTrouble>
    /** Ends every session that is shown; one that has ended already is no error. */
    readonly logout: (visitor: Visitor) => Effect.Effect<void, IdPTrouble | StepUpRequired>
  }
>()("svc/services/SignIn") {
  static readonly layer = Layer.effect(
    SignIn,
    Effect.gen(function* () {
      const idp = yield* IdP
      const sessions = yield* Sessions
      const limits = yield* GuessLimits

      const paced = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
        Effect.gen(function* () {
          const clock = yield* Clock.Clock
          const began = monotonicMillis(clock)
          return yield* Effect.onExit(effect, () =>
            Effect.suspend(() => Effect.sleep(pace - ((monotonicMillis(clock) - began) % pace)))
          )
        })

      const others = (credential: Credential) =>
        Effect.map(idp.sessions(credential), (all) => all.filter(({ current }) => !current))

      return SignIn.of({
        beginPasskey: Effect.map(idp.beginPasskeyLogin, ({ flowId, options }) => ({
          flow_id: flowId,
          passkey_options: options
        })),

        passkey: Effect.fn("SignIn.passkey")(function* (visitor, from, flowId, assertion) {
          yield* limits.take("passkey", from)
          const { cookies, due, session } = yield* idp.passkeyLogin(flowId, assertion)
          const outcome = due ?? session
          if (outcome === null) return yield* new BadGateway({ error: "The identity provider gave no session" })
          // Whoever was signed in here before is so no more.
          for (const credential of visitor.credentials) yield* sessions.forget(credential)
          return { outcome: due === null ? outcome : yield* sessions.wayBack(visitor, due), cookies }
        }),

        beginRecovery: idp.beginRecovery,
        recover: (from, flowId, email) =>
          Effect.andThen(limits.take("recovery", from), paced(idp.recover(flowId, email))),

        sessions: (visitor) => Effect.map(sessions.holding(visitor, idp.sessions), ({ value }) => value),

        revoke: Effect.fn("SignIn.revoke")(function* (visitor, id) {
          const { session } = yield* sessions.current(visitor)
          if (session.id === id) {
            return yield* new InvalidRequest({
              error: "This is the current session: POST /api/auth/logout ends it",
              code: "CURRENT_SESSION"
            })
          }
          const { credential } = yield* sessions.holding(visitor, (credential) => idp.revokeSession(credential, id))
          yield* sessions.forget(credential)
        }),
        revokeOthers: Effect.fn("SignIn.revokeOthers")(function* (visitor) {
          yield* sessions.current(visitor)
          const { credential, value } = yield* sessions.holding(visitor, (credential) =>
            Effect.flatMap(others(credential), (all) =>
              Effect.as(
                Effect.forEach(
                  all,
                  // One that ends by itself meanwhile has ended.
                  ({ id }) => Effect.catchTag(idp.revokeSession(credential, id), "NotFound", () => Effect.void),
                  { concurrency: 4, discard: true }
                ),
                all.length
              )
            )
          )
          yield* sessions.forget(credential)
          return value
        }),

        logout: Effect.fn("SignIn.logout")(function* (visitor) {
          for (const credential of visitor.credentials) {
            yield* Effect.catchTag(idp.logout(credential), "Unauthorized", () => Effect.void)
            yield* sessions.forget(credential)
          }
        })
      })
    })
  )
}
