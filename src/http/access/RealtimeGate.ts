import { Clock, Context, Effect, Layer, Semaphore, Stream } from "effect"
import { type HttpServerRequest } from "effect/http"
import { Unauthorized } from "../../domain/errors.ts"
import { leewaySeconds } from "../../domain/access/JwtClaims.ts"
import { type Visitor } from "../../domain/identity/Visitor.ts"
import { type Actor } from "../../services/ports/Db.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { Keys } from "../../services/access/Keys.ts"
import { RealtimeSettings } from "../../services/realtime/Settings.ts"
import { Sessions } from "../../services/identity/Sessions.ts"
import { Tokens } from "../../services/access/Tokens.ts"
import { apiKeyOf, bearerOf } from "./Credentials.ts"
import { type EntryTrouble } from "./Entrance.ts"
import { refuseCrossSiteSocket } from "./Origins.ts"
import { credentialsOf, hasSessionCookie } from "./SessionCookies.ts"

/** Somebody who may listen. */
export interface Listening {
  readonly role: Actor["role"]
  /** Fails when that is no longer so: the key is revoked, the JWT has expired. Never succeeds. */
  readonly until: Effect.Effect<never, Unauthorized>
}

/** How often a session is looked at again; the idp tells nobody that it has ended. */
const lookEvery = "30 seconds"
const sessionEnded = new Unauthorized({ error: "The session has ended", code: "UNAUTHENTICATED" })

const everybody: Listening = { role: "service_role", until: Effect.never }

/**
 * Lets clients of `/realtime` in: a key in a header, or, since browsers can't set headers there, in the query; or a
 * session's cookie, an administrator as service_role and anybody else as `authenticated`. With SVC_REALTIME_PUBLIC
 * nothing is asked for, and everything is told.
 */
export class RealtimeGate extends Context.Service<
  RealtimeGate,
  {
    readonly enter: (
      request: HttpServerRequest.HttpServerRequest,
      keyInQuery: string | undefined
    ) => Effect.Effect<Listening, EntryTrouble>
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

      // Few at a time: the first look-up of a key spares the others theirs.
      const looking = yield* Semaphore.make(4)

      /** Until the key is found revoked. While that can't be found out, it goes on. */
      const revoked = (rawKey: string): Effect.Effect<never, Unauthorized> =>
        // And once soon after: it may have been revoked before we listened.
        Stream.merge(keys.changes, Stream.fromEffect(Effect.sleep("500 millis"))).pipe(
          Stream.runForEach(() =>
            keys.verify(rawKey).pipe(
              Effect.catchTag("Unavailable", () => Effect.void),
              Effect.asVoid,
              looking.withPermit
            )
          ),
          Effect.andThen(Effect.never)
        )

      const expired = Effect.fnUntraced(function* (token: string, exp: number) {
        const look = Effect.gen(function* () {
          const left = (exp + leewaySeconds) * 1000 - (yield* Clock.currentTimeMillis)
          yield* Effect.sleep(Math.min(Math.max(left, 1_000), 2 ** 31 - 1)) // the longest there is
          yield* Effect.catchTag(tokens.verify(token), "Unavailable", () => Effect.void)
        })
        return yield* Effect.forever(look)
      })

      /** Until the session is found ended, or worth less. While that can't be found out, it goes on. */
      const ended = (visitor: Visitor, admin: boolean): Effect.Effect<never, Unauthorized> =>
        sessions.current(visitor).pipe(
          Effect.flatMap((now) => (now.admin === admin ? Effect.void : Effect.fail(sessionEnded))),
          Effect.catchTags({
            StepUpRequired: () => Effect.fail(sessionEnded),
            Unavailable: () => Effect.void,
            BadGateway: () => Effect.void,
            GatewayTimeout: () => Effect.void
          }),
          looking.withPermit,
          Effect.delay(lookEvery),
          Effect.forever
        )

      const enter = Effect.fnUntraced(function* (
        request: HttpServerRequest.HttpServerRequest,
        keyInQuery: string | undefined
      ) {
        const { headers } = request
        const inHeaders = yield* apiKeyOf(headers)
        const given = yield* apiKeyOf({ apikey: inHeaders || keyInQuery, "x-api-key": keyInQuery })
        if (given === "" && open) return everybody
        if (given === "" && idp.configured && hasSessionCookie(request.headers["cookie"])) {
          yield* refuseCrossSiteSocket(request, settings)
          const visitor = { credentials: credentialsOf(request.headers["cookie"]), returnTo: undefined }
          const { admin } = yield* sessions.current(visitor)
          return { role: admin ? ("service_role" as const) : ("authenticated" as const), until: ended(visitor, admin) }
        }
        const { type } = yield* keys.verify(given)
        const until = revoked(given)
        const token = bearerOf(headers)
        if (token === undefined || token === given) return { role: type, until }
        const { exp } = yield* tokens.verify(token)
        const role: Actor["role"] = type === "anon" ? "authenticated" : type
        return { role, until: exp === undefined ? until : Effect.raceFirst(until, expired(token, exp)) }
      })

      return RealtimeGate.of({ enter })
    })
  )
}
