import { Context, Effect, Layer } from "effect"
import { Unprocessable } from "../../../../domain/errors.ts"
import { validationFailed } from "../../../../domain/supabase/AuthErrors.ts"
import { AccountSettings } from "../../AccountSettings.ts"
import { type KeyProof, type RelyingParty } from "../../../ports/supabase/AuthCalls.ts"
import { KeyChecks } from "../factors/KeyChecks.ts"
import { AccountKeys } from "../factors/Keys.ts"
import { AccountStore } from "../Store.ts"

const wrong = new Unprocessable({ error: "Invalid WebAuthn credential", code: "mfa_verification_failed" })
const tooMany = new Unprocessable({
  error: "Maximum number of keys reached, unenroll to continue",
  code: "too_many_enrolled_mfa_factors"
})

/** Refuses a key or its response; what the database answers is not a refusal. */
const orWrong = <A, E extends { readonly status: number }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapError(effect, (error) => (error.status < 500 ? wrong : error))

/** Security keys as second factors. They are those of the account, so that the service's own pages require them too. */
export class SecurityKeys extends Context.Service<SecurityKeys>()("svc/identity/SecurityKeys", {
  make: Effect.gen(function* () {
    const { origins, rpId } = yield* AccountSettings
    const store = yield* AccountStore
    const keys = yield* AccountKeys
    const checks = yield* KeyChecks
    return {
      /** Options to create a key, or to show the factor's. Refuses pages whose keys could not be verified afterwards. */
      options: Effect.fnUntraced(function* (userId: string, keyId: string | null, page: RelyingParty) {
        if (page.rpId !== undefined && page.rpId !== rpId) {
          return yield* validationFailed(`webauthn.rpId must be ${rpId}: set SVC_WEBAUTHN_RP_ID for another`)
        }
        if (page.origins?.some((origin) => origins.includes(origin)) === false) {
          return yield* validationFailed(
            "webauthn.rpOrigins must contain an origin that may use keys: add yours to SVC_WEBAUTHN_ORIGINS"
          )
        }
        if (keyId !== null) return { type: "request" as const, publicKey: yield* checks.request([keyId]) }
        const publicKey = yield* Effect.mapError(keys.creation(userId, false), (error) =>
          error.code === "TOO_MANY_KEYS" ? tooMany : error
        )
        return { type: "create" as const, publicKey }
      }),

      /** Gives a factor the key in an attestation. In a transaction. */
      confirm: Effect.fnUntraced(function* (
        userId: string,
        factor: { readonly id: string; readonly name: string | null },
        { credential, type }: KeyProof,
        challenge: string
      ) {
        if (type !== "create") return yield* wrong
        const name = factor.name ?? "Security Key"
        const keyId = yield* orWrong(keys.register(userId, credential, challenge, name, false))
        yield* store.count(
          `update svc.supabase_factors set key_id = $3, updated_at = now()
       where id = $1::text::uuid and identity_id = $2::text::uuid returning 1`,
          [factor.id, userId, keyId]
        )
      }),

      /** Verifies that the factor's key was shown; `use` ends the challenge. */
      show: Effect.fnUntraced(function* <E extends { readonly status: number }>(
        userId: string,
        keyId: string | null,
        { credential, type }: KeyProof,
        challenge: string,
        use: Effect.Effect<void, E>
      ) {
        if (type !== "request") return yield* wrong
        yield* Effect.catchTag(keys.shown(credential, challenge, userId, use, keyId), "Unauthorized", () =>
          Effect.fail(wrong)
        )
      }),

      remove: (userId: string, keyId: string) =>
        store.count(
          "delete from svc.identity_keys where id = $2 and identity_id = $1::text::uuid and not passkey returning 1",
          [userId, keyId]
        )
    }
  })
}) {
  static readonly layer = Layer.effect(SecurityKeys, SecurityKeys.make)
}
