import { Clock, Context, Effect, Fiber, Layer, Redacted } from "effect"
import { createHash } from "node:crypto"
import { adminVerdict } from "../../domain/identity/AdminRule.ts"
import { StepUpRequired, Unauthorized } from "../../domain/errors.ts"
import { type Credential, type IdentitySession } from "../../domain/identity/Identity.ts"
import { type Visitor } from "../../domain/identity/Visitor.ts"
import { IdentitySettings } from "./Settings.ts"
import { IdP, notConfigured, type IdPTrouble, type RelayedCookies, type SessionTrouble } from "../ports/IdP.ts"

/** Somebody with a good session. */
export interface SignedIn {
  readonly session: IdentitySession
  readonly credential: Credential
  /** May use the management API. */
  readonly admin: boolean
  /** What the idp wants their browser to keep; empty when we remember the session. */
  readonly cookies: RelayedCookies
}

/** ms that a session is remembered. */
const rememberedFor = 5_000
const mostRemembered = 10_000

const unauthenticated = new Unauthorized({
  error: "This needs a session: sign in at the identity provider",
  code: "UNAUTHENTICATED"
})

interface Remembered extends Pick<SignedIn, "session" | "admin"> {
  /** ms since 1970. */
  readonly until: number
}

/** Whose session a request comes with. Remembered for a moment, by a hash of what was shown. */
export class Sessions extends Context.Service<
  Sessions,
  {
    /** 401 `UNAUTHENTICATED` when none of the credentials is good, 403 when a second factor is due. */
    readonly current: (visitor: Visitor) => Effect.Effect<SignedIn, SessionTrouble>
    /** The same; undefined for who has no credential, or only stale ones. */
    readonly optional: (visitor: Visitor) => Effect.Effect<SignedIn | undefined, IdPTrouble | StepUpRequired>
    /** Does something at the idp as the visitor, with the first credential that it takes. */
    readonly holding: <A, E>(
      visitor: Visitor,
      use: (credential: Credential) => Effect.Effect<A, E>
    ) => Effect.Effect<{ readonly value: A; readonly credential: Credential }, E | SessionTrouble>
    /** A step-up with what it lacks: an address that leads back. */
    readonly wayBack: (visitor: Visitor, due: StepUpRequired) => Effect.Effect<StepUpRequired, IdPTrouble>
    /** Puts it into whatever fails with one. */
    readonly withWayBack: <A, E>(
      visitor: Visitor,
      effect: Effect.Effect<A, E>
    ) => Effect.Effect<A, E | StepUpRequired | IdPTrouble>
    /** Forgets the session and all others of the same identity: they may have ended, or be worth less or more. */
    readonly forget: (credential: Credential) => Effect.Effect<void>
  }
>()("svc/services/Sessions") {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const idp = yield* IdP
      const { admins, authRequired } = yield* IdentitySettings
      const clock = yield* Clock.Clock
      const scope = yield* Effect.scope
      const remembered = new Map<string, Remembered>()
      const asking = new Map<string, Fiber.Fiber<SignedIn, SessionTrouble>>()
      /** Grows with every `forget`, so that what was asked before it is not remembered. */
      let generation = 0

      const remember = (hash: string, signedIn: SignedIn) => {
        const now = clock.currentTimeMillisUnsafe()
        for (const [old, { until }] of remembered) {
          if (until > now && remembered.size < mostRemembered) break // oldest first, all kept equally long
          remembered.delete(old)
        }
        remembered.delete(hash)
        const { admin, session } = signedIn
        remembered.set(hash, { session, admin, until: Math.min(now + rememberedFor, Date.parse(session.expiresAt)) })
      }

      const ask = Effect.fn("Sessions.ask")(function* (credential: Credential, hash: string) {
        const before = generation
        const { cookies, session } = yield* idp.session(credential)
        if (session.identity.state !== "active") return yield* unauthenticated
        const verdict = adminVerdict(admins, session.identity)
        if (verdict === "unproven") {
          yield* Effect.logWarning(
            `Identity ${session.identity.id} has an e-mail address of SVC_ADMIN_IDENTITIES that is not verified: no administrator`
          )
        }
        const signedIn: SignedIn = { session, credential, admin: verdict === "admin", cookies }
        if (before === generation) remember(hash, signedIn)
        return signedIn
      })

      /** Asks once for all who wait for the same session, and goes on when one of them leaves. */
      const one = (credential: Credential): Effect.Effect<SignedIn, SessionTrouble> =>
        Effect.suspend(() => {
          const hash = hashOf(credential)
          const known = remembered.get(hash)
          if (known !== undefined && known.until > clock.currentTimeMillisUnsafe()) {
            return Effect.succeed({ session: known.session, admin: known.admin, credential, cookies: [] })
          }
          const running = asking.get(hash)
          if (running !== undefined) return Effect.map(Fiber.join(running), withoutCookies)
          return Effect.flatMap(Effect.forkIn(ask(credential, hash), scope), (fiber) => {
            asking.set(hash, fiber)
            fiber.addObserver(() => {
              if (asking.get(hash) === fiber) asking.delete(hash)
            })
            return Fiber.join(fiber)
          })
        })

      const first = <A, E>(
        { credentials }: Visitor,
        use: (credential: Credential) => Effect.Effect<A, E>
      ): Effect.Effect<A, E | Unauthorized> =>
        Effect.gen(function* () {
          let refusal: E | Unauthorized = unauthenticated
          for (const credential of credentials) {
            const tried = yield* Effect.result(use(credential))
            if (tried._tag === "Success") return tried.success
            if (!(tried.failure instanceof Unauthorized) || tried.failure.code !== "UNAUTHENTICATED") {
              return yield* Effect.fail(tried.failure)
            }
            refusal = tried.failure
          }
          return yield* Effect.fail(refusal)
        })

      const wayBack = ({ returnTo }: Visitor, due: StepUpRequired) => {
        if (returnTo === undefined) return Effect.succeed(due)
        const how = due.code === "reauthentication_required" ? { refresh: true } : { aal: "aal2" as const }
        return Effect.map(
          idp.loginUrl({ returnTo, ...how }),
          (redirect_to) => new StepUpRequired({ error: due.error, code: due.code, redirect_to })
        )
      }

      const withWayBack = <A, E>(visitor: Visitor, effect: Effect.Effect<A, E>) =>
        Effect.catchIf(
          effect,
          (error): error is E & StepUpRequired => error instanceof StepUpRequired,
          (due) => Effect.flatMap(wayBack(visitor, due), Effect.fail)
        )

      const signedIn = (visitor: Visitor) => withWayBack(visitor, first(visitor, one))
      /** Nobody is told to sign in where nobody can. */
      const possible = idp.configured ? Effect.void : Effect.fail(notConfigured("IDP_PUBLIC_URL"))

      return Sessions.of({
        current: (visitor) => Effect.andThen(possible, signedIn(visitor)),
        optional: (visitor) => Effect.catchTag(signedIn(visitor), "Unauthorized", () => Effect.undefined),
        holding: (visitor, use) =>
          withWayBack(
            visitor,
            Effect.gen(function* () {
              yield* possible
              const credentials = authRequired ? [(yield* first(visitor, one)).credential] : visitor.credentials
              return yield* first({ ...visitor, credentials }, (credential) =>
                Effect.map(use(credential), (value) => ({ value, credential }))
              )
            })
          ),
        wayBack,
        withWayBack,
        forget: (credential) =>
          Effect.sync(() => {
            generation++
            asking.clear()
            const hash = hashOf(credential)
            const whose = remembered.get(hash)?.session.identity.id
            remembered.delete(hash)
            for (const [other, { session }] of remembered) if (session.identity.id === whose) remembered.delete(other)
          })
      })
    })
  )
}

const withoutCookies = (signedIn: SignedIn): SignedIn => ({ ...signedIn, cookies: [] })

const hashOf = ({ _tag, value }: Credential) =>
  createHash("sha256")
    .update(`${_tag} ${Redacted.value(value)}`)
    .digest("base64")
