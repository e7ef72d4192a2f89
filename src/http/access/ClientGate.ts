import { Clock, Context, Effect, Layer } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type ClientError, TooManyRequests } from "../../domain/errors.ts"
import { Keys, type LiveKey } from "../../services/access/Keys.ts"
import { monotonicMillis, RateLimits } from "../../services/access/RateLimits.ts"
import { Tokens } from "../../services/access/Tokens.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { ApiGate, needsAdmin } from "./ApiGate.ts"
import { type Caller } from "./Caller.ts"
import { apiKeyOf, bearerOf, type Headers } from "./Credentials.ts"
import { refuseOtherOrigins } from "./Origins.ts"
import { asViewer } from "./ViewAs.ts"

/** The values of the rate limit headers; -1 for unlimited and for unknown callers. */
export interface Quota {
  limit: number
  remaining: number
  /** Seconds after which a refused caller may retry; 0 when it was not refused. */
  reset: number
}

/** Admits `/v1` and `/ofrep` requests: API key, rate limit, then the JWT if there is one (spec: Authentication). */
export class ClientGate extends Context.Service<
  ClientGate,
  {
    /** Fills in `quota` as far as it is known, whether the caller is admitted or not. `address`: see `clientAddress`. */
    readonly enter: (headers: Headers, address: string, quota: Quota) => Effect.Effect<Caller, ClientError>
    /** The same for a page of the dashboard, by its session, which may read as another caller. */
    readonly enterBySession: (
      request: HttpServerRequest.HttpServerRequest,
      address: string,
      quota: Quota
    ) => Effect.Effect<Caller, ClientError>
  }
>()("svc/http/ClientGate") {
  static readonly layer = Layer.effect(
    ClientGate,
    Effect.gen(function* () {
      const keys = yield* Keys
      const limits = yield* RateLimits
      const tokens = yield* Tokens
      const clock = yield* Clock.Clock
      const apiGate = yield* ApiGate
      const settings = yield* IdentitySettings

      const limited = (key: LiveKey, quota: Quota): TooManyRequests | undefined => {
        if (key.rateLimit === null) return undefined
        const taken = limits.takeAt(key.id, key.rateLimit, monotonicMillis(clock))
        quota.limit = key.rateLimit
        quota.remaining = taken.remaining
        if (taken.allowed) return undefined
        quota.reset = taken.resetSeconds
        return new TooManyRequests({
          error: `The rate limit of this key is ${key.rateLimit} requests per minute; retry in ${taken.resetSeconds} s`,
          retry_after: taken.resetSeconds
        })
      }

      const callerOf = (key: LiveKey, rawKey: string, token: string | undefined, address: string) => {
        const client = `${key.id} ${address}`
        // supabase-js sends the key as the token while no user is signed in.
        if (token === undefined || token === rawKey) {
          return Effect.succeed<Caller>({ keyType: key.type, actor: { role: key.type, claims: "", sub: "", client } })
        }
        return Effect.map(tokens.verify(token), ({ claims, sub }): Caller => ({
          keyType: key.type,
          actor: {
            role: key.type === "anon" ? "authenticated" : "service_role",
            claims,
            sub,
            client: sub === "" ? client : `${key.id} user ${sub}`
          }
        }))
      }

      const enter = (headers: Headers, address: string, quota: Quota) =>
        Effect.flatMapEager(apiKeyOf(headers), (given) =>
          Effect.flatMapEager(keys.verify(given), (key): Effect.Effect<Caller, ClientError> => {
            const refused = limited(key, quota)
            return refused === undefined ? callerOf(key, given, bearerOf(headers), address) : Effect.fail(refused)
          })
        )

      const enterBySession = Effect.fnUntraced(function* (
        request: HttpServerRequest.HttpServerRequest,
        address: string,
        quota: Quota
      ): Effect.fn.Return<Caller, ClientError> {
        yield* refuseOtherOrigins(request, settings)
        const who = yield* apiGate.session(request)
        if (who._tag === "Key") {
          const refused = limited(who.key, quota)
          if (refused !== undefined) return yield* refused
          return yield* asViewer(request, yield* callerOf(who.key, "", undefined, address))
        }
        const { admin, identity } = who.session
        if (!admin) return yield* needsAdmin
        const actor = { role: "service_role", claims: "", sub: "", client: `identity ${identity.id}` } as const
        return yield* asViewer(request, { keyType: "service_role", actor })
      })

      return ClientGate.of({ enter, enterBySession })
    })
  )
}
