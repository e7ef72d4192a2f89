import { Context, Effect, Layer } from "effect"
import { decodeProtectedHeader } from "jose"
import { type KeyType, looksLikeKey } from "../../domain/access/ApiKey.ts"
import { type JwtClaims } from "../../domain/access/JwtClaims.ts"
import { type ClientError, Unauthorized } from "../../domain/errors.ts"
import { Keys, type LiveKey } from "../../services/access/Keys.ts"
import { Tokens } from "../../services/access/Tokens.ts"
import { SupabaseSettings } from "../../services/supabase/Settings.ts"
import { type Caller } from "../access/Caller.ts"
import { KeyLimits } from "../access/KeyLimits.ts"
import { type Admission } from "../access/ServedRequest.ts"
import { apiKeyOf, bearerOf } from "../access/Credentials.ts"
import { type Headers } from "../wire/Headers.ts"
import { noKey } from "./Errors.ts"

const missing = new Unauthorized({
  error: noKey,
  code: "INVALID_API_KEY",
  hint: "Send an API key in the header apikey"
})
const unknown = new Unauthorized({
  error: "Invalid API key",
  code: "INVALID_API_KEY",
  hint: "Send a live API key of this service in the header apikey"
})

/** An API key: one of this service's, or, with SVC_SUPABASE_JWT_KEYS, a JWT, which has no record. */
interface Credential {
  readonly type: KeyType
  readonly key: LiveKey | undefined
}

/** The first part of a JWT is base64url of a JSON object. */
const looksLikeJwt = (text: string) => text.startsWith("ey")

/** The role of a JWT that is an API key: signed by the shared secret, for a role and not for a user. */
const roleOf = (token: string, { claims, sub }: JwtClaims): KeyType | undefined => {
  // HS256 tokens are verified by SVC_JWT_SECRET only; the keys of other issuers must not make API keys.
  if (sub !== "" || decodeProtectedHeader(token).alg !== "HS256") return undefined
  const { role, sub: subject } = JSON.parse(claims) as { readonly role?: unknown; readonly sub?: unknown }
  if (subject !== undefined) return undefined
  return role === "anon" || role === "service_role" ? role : undefined
}

/**
 * Admits requests of Supabase's clients, which send what they have as the bearer token: an API key, or a user's JWT, that
 * makes the caller that user whatever the key is.
 */
export class SupabaseGate extends Context.Service<
  SupabaseGate,
  {
    /** Like `ClientGate.enter`. `keyless`: a user's JWT suffices, without an API key. */
    readonly enter: (headers: Headers, admission: Admission, keyless?: boolean) => Effect.Effect<Caller, ClientError>
  }
>()("svc/http/SupabaseGate") {
  static readonly layer = Layer.effect(
    SupabaseGate,
    Effect.gen(function* () {
      const keys = yield* Keys
      const tokens = yield* Tokens
      const limits = yield* KeyLimits
      const { jwtKeys } = yield* SupabaseSettings
      /** Roles by claims; a cached token always has the same claims object. */
      const roles = new WeakMap<JwtClaims, { readonly role: KeyType | undefined }>()

      const asKey = (token: string, claims: JwtClaims): Credential | undefined => {
        const known = roles.get(claims) ?? { role: roleOf(token, claims) }
        roles.set(claims, known)
        return known.role && { type: known.role, key: undefined }
      }

      const ownKey = (text: string): Effect.Effect<Credential, ClientError> =>
        Effect.mapEager(
          Effect.catchTag(keys.verify(text), "Unauthorized", () => Effect.fail(unknown)),
          (key) => ({ type: key.type, key })
        )

      const keyOf = (text: string): Effect.Effect<Credential, ClientError> =>
        jwtKeys && looksLikeJwt(text)
          ? tokens.verify(text).pipe(
              Effect.catchTag("Unauthorized", () => Effect.fail(unknown)),
              Effect.flatMapEager((claims) => {
                const credential = asKey(text, claims)
                return credential === undefined ? Effect.fail(unknown) : Effect.succeed(credential)
              })
            )
          : ownKey(text)

      /** The role of a key, unless its rate limit is exceeded. */
      const admitted = ({ key, type }: Credential, admission: Admission): Effect.Effect<Caller, ClientError> => {
        const client = `${key?.id ?? type} ${admission.address}`
        const caller: Caller = { keyType: type, actor: { role: type, claims: "", sub: "", client }, supabase: true }
        return key === undefined ? Effect.succeed(caller) : Effect.mapEager(limits.take(key, admission), () => caller)
      }

      const userOf = ({ claims, sub }: JwtClaims, client: string): Caller => ({
        keyType: "anon",
        actor: { role: "authenticated", claims, sub, client: sub === "" ? client : `user ${sub}` },
        supabase: true
      })

      const enter: SupabaseGate["Service"]["enter"] = (headers, admission, keyless = false) =>
        Effect.flatMapEager(apiKeyOf(headers), (given) => {
          const bearer = bearerOf(headers)
          const token = bearer === given ? undefined : bearer
          if (token !== undefined && looksLikeKey(token)) {
            const decides = Effect.flatMapEager(ownKey(token), (key) => admitted(key, admission))
            return given === "" ? decides : Effect.flatMapEager(keyOf(given), () => decides)
          }
          if (given === "" && token === undefined) return Effect.fail(missing)
          const byKey = () => Effect.flatMapEager(keyOf(given), (credential) => admitted(credential, admission))
          if (token === undefined) return byKey()
          return Effect.flatMapEager(given === "" ? Effect.undefined : byKey(), (caller) =>
            Effect.flatMap(tokens.verify(token), (claims): Effect.Effect<Caller, ClientError> => {
              const credential = jwtKeys ? asKey(token, claims) : undefined
              if (credential !== undefined) return admitted(credential, admission)
              if (caller === undefined && !keyless) return Effect.fail(missing)
              return Effect.succeed(userOf(claims, caller?.actor.client ?? admission.address))
            })
          )
        })

      return SupabaseGate.of({ enter })
    })
  )
}
