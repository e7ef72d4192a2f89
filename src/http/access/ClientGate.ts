import { Context, Effect, Layer } from "effect"
import { type ClientError } from "../../domain/errors.ts"
import { Keys, type LiveKey } from "../../services/access/Keys.ts"
import { Tokens } from "../../services/access/Tokens.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { administers, ApiGate, needsAdmin } from "./ApiGate.ts"
import { type Caller } from "./Caller.ts"
import { apiKeyOf, bearerOf } from "./Credentials.ts"
import { type Headers } from "../wire/Headers.ts"
import { KeyLimits } from "./KeyLimits.ts"
import { refuseOtherOrigins } from "./Origins.ts"
import { type Admission, authorOf, type ServedRequest } from "./ServedRequest.ts"
import { asViewer } from "./ViewAs.ts"

/** Admits `/v1` and `/ofrep` requests: API key, rate limit, then the JWT if there is one (spec: Authentication). */
export class ClientGate extends Context.Service<
  ClientGate,
  {
    /** Fills in `admission` as far as it is known, whether the caller is admitted or not. */
    readonly enter: (headers: Headers, admission: Admission) => Effect.Effect<Caller, ClientError>
    /** Admits a request of a dashboard page by its session. The page may read as another caller. */
    readonly enterBySession: (request: ServedRequest) => Effect.Effect<Caller, ClientError>
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

      const enter = (headers: Headers, admission: Admission) =>
        Effect.flatMapEager(apiKeyOf(headers), (given) =>
          Effect.flatMapEager(keys.verify(given), (key) =>
            Effect.flatMapEager(limits.take(key, admission), () =>
              callerOf(key, given, bearerOf(headers), admission.address)
            )
          )
        )

      const enterBySession = Effect.fnUntraced(function* (
        request: ServedRequest
      ): Effect.fn.Return<Caller, ClientError> {
        yield* refuseOtherOrigins(request.http, settings)
        const who = yield* apiGate.session(request)
        if (who._tag === "Key") {
          yield* limits.take(who.key, request)
          const caller = yield* callerOf(who.key, "", undefined, request.address)
          return { ...(yield* asViewer(request.http, caller)), author: authorOf(who) }
        }
        if (!administers(who)) return yield* needsAdmin
        const client = `identity ${who.session.identity.id}`
        const actor = { role: "service_role", claims: "", sub: "", client } as const
        return { ...(yield* asViewer(request.http, { keyType: "service_role", actor })), author: authorOf(who) }
      })

      return ClientGate.of({ enter, enterBySession })
    })
  )
}
