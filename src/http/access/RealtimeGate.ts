import { Clock, Context, Effect, Layer, Semaphore, Stream } from "effect"
import { leewaySeconds } from "../../domain/access/JwtClaims.ts"
import { InvalidRequest, Unauthorized, type Unavailable } from "../../domain/errors.ts"
import { type Browser } from "../../domain/identity/Identity.ts"
import { Keys } from "../../services/access/Keys.ts"
import { Tokens } from "../../services/access/Tokens.ts"
import { Sessions } from "../../services/identity/Sessions.ts"
import { DashboardSessions } from "../../services/dashboard/Sessions.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { type Actor } from "../../services/ports/Db.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { RealtimeSettings } from "../../services/realtime/Settings.ts"
import { type ApiGateError } from "./ApiGate.ts"
import { apiKeyOf, bearerOf } from "./Credentials.ts"
import { dashboardTokenOf } from "./cookies/DashboardCookie.ts"
import { isSecure, refuseCrossSiteSocket } from "./Origins.ts"
import { credentialsOf, hasSessionCookie } from "./cookies/SessionCookies.ts"
import { type ServedRequest } from "./ServedRequest.ts"

/** A client that may receive events. */
export interface RealtimeCaller {
  readonly actor: Actor
  /** A user, or an API key at an address. */
  readonly client: string
  /** Fails once the client may no longer receive them: the key was revoked, the JWT or session has expired. Never succeeds. */
  readonly until: Effect.Effect<never, Unauthorized>
}

const withoutJwt = (role: Actor["role"]): Actor => ({ role, claims: "", sub: "" })

/** How often sessions are verified again; the identity provider does not notify when one ends. */
const recheckInterval = "30 seconds"
const twoTokens = new InvalidRequest({
  error: "jwt and Authorization were both sent, with different tokens",
  code: "AMBIGUOUS_JWT"
})
const sessionEnded = new Unauthorized({ error: "The session has ended", code: "UNAUTHENTICATED" })

/** Credentials in the query, since browsers cannot set headers on WebSockets. */
export interface QueryCredentials {
  readonly apikey?: string | undefined
  readonly jwt?: string | undefined
}

/**
 * Admits clients of `/realtime`: by a key and a JWT in headers or in the query; or by a session cookie: the dashboard's
 * and an administrator's as service_role, any other user as `authenticated`. With
 * SVC_REALTIME_PUBLIC no key is needed, and all events are sent.
 */
export class RealtimeGate extends Context.Service<
  RealtimeGate,
  {
    readonly enter: (request: ServedRequest, query: QueryCredentials) => Effect.Effect<RealtimeCaller, ApiGateError>
    /** Fails once `verified` fails after a change of API keys. Never succeeds. */
    readonly revoked: (
      verified: Effect.Effect<unknown, Unauthorized | Unavailable>
    ) => Effect.Effect<never, Unauthorized>
  }
>()("svc/http/RealtimeGate") {
  static readonly layer = Layer.effect(
    RealtimeGate,
    Effect.gen(function* () {
      const keys = yield* Keys
      const tokens = yield* Tokens
      const { open } = yield* RealtimeSettings
      const settings = yield* IdentitySettings
      const sessions = yield* Sessions
      const idp = yield* IdP
      const dashboard = yield* DashboardSessions

      // Few at a time: the first look-up of a key fills the cache for the others.
      const rechecks = yield* Semaphore.make(4)

      /** Fails once the key is no longer valid. Continues while that can't be determined. */
      const revoked = (
        verified: Effect.Effect<unknown, Unauthorized | Unavailable>
      ): Effect.Effect<never, Unauthorized> =>
        // The check shortly after the start covers a revocation before the subscription.
        Stream.merge(keys.changes, Stream.fromEffect(Effect.sleep("500 millis"))).pipe(
          Stream.runForEach(() =>
            verified.pipe(
              Effect.catchTag("Unavailable", () => Effect.void),
              Effect.asVoid,
              rechecks.withPermit
            )
          ),
          Effect.andThen(Effect.never)
        )

      const expired = Effect.fnUntraced(function* (token: string, exp: number) {
        const recheck = Effect.gen(function* () {
          const left = (exp + leewaySeconds) * 1000 - (yield* Clock.currentTimeMillis)
          yield* Effect.sleep(Math.min(Math.max(left, 1_000), 2 ** 31 - 1)) // the maximum of setTimeout
          yield* Effect.catchTag(tokens.verify(token), "Unavailable", () => Effect.void)
        })
        return yield* Effect.forever(recheck)
      })

      /** Fails once the session has ended or has other rights. Continues while that can't be determined. */
      const ended = (browser: Browser, admin: boolean): Effect.Effect<never, Unauthorized> =>
        sessions.current(browser).pipe(
          Effect.flatMap((session) => (session.admin === admin ? Effect.void : Effect.fail(sessionEnded))),
          Effect.catchTags({
            StepUpRequired: () => Effect.fail(sessionEnded),
            Unavailable: () => Effect.void,
            BadGateway: () => Effect.void,
            GatewayTimeout: () => Effect.void
          }),
          rechecks.withPermit,
          Effect.delay(recheckInterval),
          Effect.forever
        )

      const enter = Effect.fnUntraced(function* (request: ServedRequest, query: QueryCredentials) {
        const { address, headers, http } = request
        const inHeaders = yield* apiKeyOf(headers)
        const key = yield* apiKeyOf({ apikey: inHeaders || query.apikey, "x-api-key": query.apikey })
        if (key === "" && open) return { actor: withoutJwt("service_role"), client: address, until: Effect.never }
        const page = key === "" ? dashboardTokenOf(headers["cookie"], isSecure(http, settings)) : undefined
        if (page !== undefined) {
          yield* refuseCrossSiteSocket(http, settings)
          const live = yield* Effect.result(dashboard.verify(page))
          // A page that is left open must not keep its session.
          const verified = dashboard.verify(page, false)
          // The session also ends when it expires, and by signing out.
          const again = Effect.forever(
            Effect.delay(
              Effect.catchTag(verified, "Unavailable", () => Effect.void),
              recheckInterval
            )
          )
          if (live._tag === "Success") {
            const { key } = live.success
            request.credential = { _tag: "Key", key }
            const client = `${key.id} ${address}`
            return { actor: withoutJwt("service_role"), client, until: Effect.raceFirst(revoked(verified), again) }
          }
          if (live.failure._tag === "Unavailable") return yield* live.failure
        }
        if (key === "" && idp.configured && hasSessionCookie(headers["cookie"])) {
          yield* refuseCrossSiteSocket(http, settings)
          const browser = { credentials: credentialsOf(headers["cookie"]), returnTo: undefined }
          const { admin, identity } = yield* sessions.current(browser)
          const actor = withoutJwt(admin ? "service_role" : "authenticated")
          return { actor, client: `identity ${identity.id}`, until: ended(browser, admin) }
        }
        const live = yield* keys.verify(key)
        request.credential = { _tag: "Key", key: live }
        const { id, type } = live
        const until = revoked(Effect.suspend(() => keys.verify(key)))
        const bearer = bearerOf(headers)
        if (bearer !== undefined && query.jwt !== undefined && bearer !== query.jwt) return yield* twoTokens
        const token = bearer ?? query.jwt
        const atAddress = `${id} ${address}`
        if (token === undefined || token === key) return { actor: withoutJwt(type), client: atAddress, until }
        const { claims, exp, sub } = yield* tokens.verify(token)
        const actor: Actor = { role: type === "anon" ? "authenticated" : type, claims, sub }
        const client = sub === "" ? atAddress : `${id} user ${sub}`
        return { actor, client, until: exp === undefined ? until : Effect.raceFirst(until, expired(token, exp)) }
      })

      return RealtimeGate.of({ enter, revoked })
    })
  )
}
