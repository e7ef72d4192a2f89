import { Context, Effect, Layer } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type ClientError } from "../../domain/errors.ts"
import { accountOf } from "../../domain/identity/Identity.ts"
import { Keys, type LiveKey } from "../../services/access/Keys.ts"
import { Tokens } from "../../services/access/Tokens.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { ApiGate, needsAdmin } from "./ApiGate.ts"
import { type Caller } from "./Caller.ts"
import { apiKeyOf, bearerOf } from "./Credentials.ts"
import { type Headers } from "../wire/Headers.ts"
import { KeyLimits, type Quota } from "./KeyLimits.ts"
import { refuseOtherOrigins } from "./Origins.ts"
import { asViewer } from "./ViewAs.ts"

/** Admits `/v1` and `/ofrep` requests: API key, rate limit, then the JWT if there is one (spec: Authentication). */
export class ClientGate extends Context.Service<
  ClientGate,
  {
    /** Fills in `quota` as far as it is known, whether the caller is admitted or not. `address`: see `clientAddress`. */
    readonly enter: (headers: Headers, address: string, quota: Quota) => Effect.Effect<Caller, ClientError>
    /** Admits a request of a dashboard page by its session. The page may read as another caller. */
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
      const limits = yield* KeyLimits
      const tokens = yield* Tokens
      const apiGate = yield* ApiGate
      const settings = yield* IdentitySettings

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
          Effect.flatMapEager(keys.verify(given), (key) =>
            Effect.flatMapEager(limits.take(key, quota), () => callerOf(key, given, bearerOf(headers), address))
          )
        )

      const enterBySession = Effect.fnUntraced(function* (
        request: HttpServerRequest.HttpServerRequest,
        address: string,
        quota: Quota
      ): Effect.fn.Return<Caller, ClientError> {
        yield* refuseOtherOrigins(request, settings)
        const who = yield* apiGate.session(request)
        if (who._tag === "Key") {
          yield* limits.take(who.key, quota)
          const caller = yield* callerOf(who.key, "", undefined, address)
          const author = { type: "key", id: who.key.id, label: who.key.label } as const
          return { ...(yield* asViewer(request, caller)), author }
        }
        const { admin, identity } = who.session
        if (!admin) return yield* needsAdmin
        const actor = { role: "service_role", claims: "", sub: "", client: `identity ${identity.id}` } as const
        const author = { type: "identity", id: identity.id, label: accountOf(identity) } as const
        return { ...(yield* asViewer(request, { keyType: "service_role", actor })), author }
      })

      return ClientGate.of({ enter, enterBySession })
    })
  )
}
