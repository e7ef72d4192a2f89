import { Clock, Context, Effect, Layer, Semaphore, Stream } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type InvalidRequest, type Unauthorized, type Unavailable } from "../domain/errors.ts"
import { leewaySeconds } from "../domain/JwtClaims.ts"
import { type Actor } from "../services/Db.ts"
import { Keys } from "../services/Keys.ts"
import { RealtimeSettings } from "../services/RealtimeSettings.ts"
import { Tokens } from "../services/Tokens.ts"
import { apiKeyOf, bearerOf } from "./Credentials.ts"

/** Somebody who may listen. */
export interface Listening {
  readonly role: Actor["role"]
  /** Fails when that is no longer so: the key is revoked, the JWT has expired. Never succeeds. */
  readonly until: Effect.Effect<never, Unauthorized>
}

const everybody: Listening = { role: "service_role", until: Effect.never }

/**
 * Lets clients of `/realtime` in: a key in a header, or, since browsers can't set headers there, in the query. With
 * SVC_REALTIME_PUBLIC nothing is asked for, and everything is told.
 */
export class RealtimeGate extends Context.Service<
  RealtimeGate,
  {
    readonly enter: (
      request: HttpServerRequest.HttpServerRequest,
      keyInQuery: string | undefined
    ) => Effect.Effect<Listening, InvalidRequest | Unauthorized | Unavailable>
  }
>()("svc/http/RealtimeGate") {
  static readonly layer = Layer.effect(
    RealtimeGate,
    Effect.gen(function* () {
      const keys = yield* Keys
      const tokens = yield* Tokens
      const { open } = yield* RealtimeSettings

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

      const enter = Effect.fnUntraced(function* (
        { headers }: HttpServerRequest.HttpServerRequest,
        keyInQuery: string | undefined
      ) {
        const inHeaders = yield* apiKeyOf(headers)
        const given = yield* apiKeyOf({ apikey: inHeaders || keyInQuery, "x-api-key": keyInQuery })
        if (given === "" && open) return everybody
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
