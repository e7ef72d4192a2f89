import { Clock, Context, Effect, Fiber, Layer, Redacted } from "effect"
import { LRUCache } from "lru-cache"
import { createHash } from "node:crypto"
import { StepUpRequired, Unauthorized } from "../../domain/errors.ts"
import { adminVerdict, type Browser, type Credential, type IdentitySession } from "../../domain/identity/Identity.ts"
import { IdP, type IdPError, notConfigured, type RelayedCookies, type SessionError } from "../ports/IdP.ts"
import { monotonicMillis } from "../access/RateLimits.ts"
import { IdentitySettings } from "./Settings.ts"
import { Peers } from "../ports/workers/Peers.ts"

/** A signed-in user. */
export interface Session extends IdentitySession {
  readonly credential: Credential
  /** Whether the user may use the management API. */
  readonly admin: boolean
  /** Cookies that the identity provider set; empty when the session comes from the cache. */
  readonly cookies: RelayedCookies
}

/** How long a session is cached, in ms: as long as one that has ended in another replica is accepted. */
const cacheMillis = 1_000

const unauthenticated = new Unauthorized({
  error: "This needs a session: sign in at the identity provider",
  code: "UNAUTHENTICATED"
})

type WithCredential = <A, E>(
  browser: Browser,
  use: (credential: Credential) => Effect.Effect<A, E>
) => Effect.Effect<{ readonly value: A; readonly credential: Credential }, E | SessionError>

interface Cached extends Omit<Session, "credential" | "cookies"> {
  /** The expiry, by `monotonicMillis`. */
  readonly until: number
}

/** The sessions that requests come with. Cached for a second by a hash of the credential. */
export class Sessions extends Context.Service<
  Sessions,
  {
    /** 401 `UNAUTHENTICATED` when no credential is valid, 403 when a second factor is required. */
    readonly current: (browser: Browser) => Effect.Effect<Session, SessionError>
    /** The session; undefined without a valid credential. */
    readonly optional: (browser: Browser) => Effect.Effect<Session | undefined, IdPError | StepUpRequired>
    /** Uses the first credential that the identity provider accepts; its session is looked up before. */
    readonly withSession: <A, E>(
      browser: Browser,
      use: (session: Session) => Effect.Effect<A, E>
    ) => Effect.Effect<{ readonly value: A; readonly session: Session }, E | SessionError>
    /** Makes a call without looking up the session, unless SVC_AUTH_REQUIRED is set. */
    readonly withCredential: WithCredential
    /** Makes a call for a session that may need a second factor. */
    readonly withHalfSession: WithCredential
    /** Makes a call that changes the session or its identity. */
    readonly change: <A, E>(
      browser: Browser,
      use: (credential: Credential) => Effect.Effect<A, E>
    ) => Effect.Effect<{ readonly value: A; readonly session: Session }, E | SessionError>
    /** Like `change`, for a session that may need a second factor. */
    readonly changeHalf: WithCredential
    /** Ends the session for good, if it has not ended already. */
    readonly end: (credential: Credential) => Effect.Effect<void, IdPError | StepUpRequired>
    /** Adds the URL at which a browser with the identity provider's cookie completes a step-up and returns. */
    readonly withReturnUrl: (browser: Browser, error: StepUpRequired) => Effect.Effect<StepUpRequired, IdPError>
    /** Drops all sessions of the credential's identity from the cache: they may have ended or changed. */
    readonly invalidate: (credential: Credential) => Effect.Effect<void>
    /**
     * Completes a sign-in. Sessions that the same browser had end, if the identity provider can be reached; an app that gets a
     * token keeps those of its cookies.
     */
    readonly replace: (before: Browser["credentials"], kind: Credential["_tag"]) => Effect.Effect<void>
    /** Like `invalidate`, by the identity's id. */
    readonly invalidateIdentity: (id: string) => Effect.Effect<void>
  }
>()("svc/services/Sessions") {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const idp = yield* IdP
      const { admins, authRequired } = yield* IdentitySettings
      const clock = yield* Clock.Clock
      const scope = yield* Effect.scope
      const peers = yield* Peers
      const cache = new LRUCache<string, Cached>({ max: 10_000 })
      const lookUps = new Map<string, Fiber.Fiber<Session, SessionError>>()
      /** The identity of each credential, which never changes; a session that needs a step-up does not show its own. */
      const owners = new LRUCache<string, string>({ max: 10_000 })
      /** Grows with every `invalidate`, so that a look-up that began before it is not cached. */
      let generation = 0

      const lookUp = Effect.fn("Sessions.lookUp")(function* (credential: Credential, hash: string) {
        const before = generation
        // The time before the request, because the answer may be as old.
        const askedAt = monotonicMillis(clock)
        const { cookies, session } = yield* idp.session(credential)
        if (session.identity.state !== "active") return yield* unauthenticated
        owners.set(hash, session.identity.id)
        const verdict = adminVerdict(admins, session.identity)
        if (verdict === "unverified") {
          yield* Effect.logWarning(
            `Identity ${session.identity.id} is not an administrator: its e-mail address in SVC_ADMIN_IDENTITIES is not verified`
          )
        }
        const admin = verdict === "admin"
        if (before === generation) {
          const left = Date.parse(session.expires_at) - clock.currentTimeMillisUnsafe()
          cache.set(hash, { ...session, admin, until: askedAt + Math.min(cacheMillis, left) })
        }
        return { ...session, credential, admin, cookies }
      })

      /** Concurrent requests share one look-up, which continues when the first of them is interrupted. */
      const find = (credential: Credential): Effect.Effect<Session, SessionError> =>
        Effect.suspend(() => {
          const hash = hashOf(credential)
          const cached = cache.get(hash)
          if (cached !== undefined && cached.until > monotonicMillis(clock)) {
            const { until: _, ...session } = cached
            return Effect.succeed({ ...session, credential, cookies: [] })
          }
          const running = lookUps.get(hash)
          if (running !== undefined) return Effect.map(Fiber.join(running), (session) => ({ ...session, cookies: [] }))
          return Effect.flatMap(Effect.forkIn(lookUp(credential, hash), scope), (fiber) => {
            lookUps.set(hash, fiber)
            fiber.addObserver(() => {
              if (lookUps.get(hash) === fiber) lookUps.delete(hash)
            })
            return Fiber.join(fiber)
          })
        })

      /** The identity of a credential; undefined when it is unknown. */
      const ownerOf = (credential: Credential) =>
        Effect.suspend(() => {
          const owner = owners.get(hashOf(credential))
          if (owner !== undefined) return Effect.succeed(owner)
          return Effect.match(find(credential), {
            onFailure: () => undefined,
            onSuccess: ({ identity }) => identity.id
          })
        })
      const isOfAnother = (one: Credential, other: Credential) =>
        Effect.map(
          Effect.all([ownerOf(one), ownerOf(other)]),
          ([a, b]) => a !== undefined && b !== undefined && a !== b
        )

      /**
       * Uses the credentials in order. One whose session has ended, or needs a step-up, is followed by the next: after
       * a step-up only by one of the same user, if the user can be determined.
       */
      const firstAccepted = <A, E>(
        { credentials, returnTo }: Browser,
        use: (credential: Credential) => Effect.Effect<A, E>
      ): Effect.Effect<A, E | Unauthorized | StepUpRequired | IdPError> =>
        Effect.gen(function* () {
          let refusal: E | Unauthorized = unauthenticated
          let weak: { readonly credential: Credential; readonly stepUp: StepUpRequired } | undefined
          for (const credential of credentials) {
            if (weak !== undefined && (yield* isOfAnother(weak.credential, credential))) continue
            const tried = yield* Effect.result(use(credential))
            if (tried._tag === "Success") return tried.success
            const { failure } = tried
            if (failure instanceof StepUpRequired) {
              // The identity provider's pages accept its own cookie only.
              if (weak === undefined || credential._tag === "Cookie") weak = { credential, stepUp: failure }
            } else if (failure instanceof Unauthorized && failure.code === "UNAUTHENTICATED") refusal = failure
            else return yield* Effect.fail(failure)
          }
          if (weak === undefined) return yield* Effect.fail(refusal)
          const { credential, stepUp } = weak
          // A browser without that cookie can't show a second factor alone.
          const how = credential._tag === "Token" && stepUp.code === "aal2_required" ? {} : howOf(stepUp)
          const redirect_to = yield* idp.loginUrl({ returnTo, ...how })
          return yield* new StepUpRequired({ error: stepUp.error, code: stepUp.code, redirect_to })
        })

      const signedIn = (browser: Browser) => firstAccepted(browser, find)
      /** The error is 503 without an identity provider, not a request to sign in. */
      const isConfigured = idp.configured ? Effect.void : Effect.fail(notConfigured("IDP_PUBLIC_URL"))

      const forget = (hash: string, id: string | undefined) => {
        generation++
        lookUps.clear()
        const identity = id ?? cache.peek(hash)?.identity.id
        cache.delete(hash)
        for (const [other, cached] of Array.from(cache.entries())) {
          if (cached.identity.id === identity) cache.delete(other)
        }
      }
      yield* peers.on("sessions", (message) =>
        Effect.sync(() => {
          const [hash, id] = JSON.parse(message) as [string, string | null]
          forget(hash, id ?? undefined)
        })
      )

      const invalidate = (credential: Credential) =>
        Effect.suspend(() => {
          const hash = hashOf(credential)
          const id = cache.peek(hash)?.identity.id
          forget(hash, id)
          return peers.notify("sessions", JSON.stringify([hash, id]))
        })

      const withSession: Sessions["Service"]["withSession"] = (browser, use) =>
        Effect.andThen(
          isConfigured,
          firstAccepted(browser, (credential) =>
            Effect.flatMap(find(credential), (session) => Effect.map(use(session), (value) => ({ value, session })))
          )
        )
      const withHalfSession: WithCredential = (browser, use) =>
        Effect.andThen(
          isConfigured,
          firstAccepted(browser, (credential) => Effect.map(use(credential), (value) => ({ value, credential })))
        )

      return Sessions.of({
        current: (browser) => Effect.andThen(isConfigured, signedIn(browser)),
        optional: (browser) => Effect.catchTag(signedIn(browser), "Unauthorized", () => Effect.undefined),
        withSession,
        withCredential: (browser, use) =>
          Effect.andThen(
            isConfigured,
            firstAccepted(browser, (credential) =>
              Effect.andThen(
                authRequired ? find(credential) : Effect.void,
                Effect.map(use(credential), (value) => ({ value, credential }))
              )
            )
          ),
        withHalfSession,
        change: (browser, use) =>
          Effect.tap(
            withSession(browser, ({ credential }) => use(credential)),
            ({ session }) => invalidate(session.credential)
          ),
        changeHalf: (browser, use) =>
          Effect.tap(withHalfSession(browser, use), ({ credential }) => invalidate(credential)),
        end: (credential) =>
          Effect.andThen(
            Effect.catchTag(idp.logout(credential), "Unauthorized", () => Effect.void),
            invalidate(credential)
          ),
        withReturnUrl: ({ returnTo }, stepUp) =>
          Effect.map(
            idp.loginUrl({ returnTo, ...howOf(stepUp) }),
            (redirect_to) => new StepUpRequired({ error: stepUp.error, code: stepUp.code, redirect_to })
          ),
        invalidate,
        replace: (before, kind) =>
          Effect.forEach(
            before,
            (credential) =>
              Effect.andThen(
                kind === "Cookie" ? Effect.ignore(idp.logout(credential)) : Effect.void,
                invalidate(credential)
              ),
            { discard: true }
          ),
        invalidateIdentity: (id) =>
          Effect.suspend(() => {
            forget("", id)
            return peers.notify("sessions", JSON.stringify(["", id]))
          })
      })
    })
  )
}

/** How a sign-in at the identity provider completes a step-up. */
const howOf = ({ code }: StepUpRequired) =>
  code === "reauthentication_required" ? { refresh: true } : { aal: "aal2" as const }

const hashOf = ({ _tag, value }: Credential) =>
  createHash("sha256")
    .update(`${_tag} ${Redacted.value(value)}`)
    .digest("base64")
