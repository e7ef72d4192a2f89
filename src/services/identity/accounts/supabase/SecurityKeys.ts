import { Effect } from "effect"
import { Unprocessable } from "../../../../domain/errors.ts"
import { validationFailed } from "../../../../domain/supabase/AuthErrors.ts"
import { type AccountSettings } from "../../AccountSettings.ts"
import { type KeyProof, type RelyingParty } from "../../../ports/supabase/AuthCalls.ts"
import { type KeyChecks, readCredential } from "../factors/KeyChecks.ts"
import { type EmbeddedKeys } from "../factors/Keys.ts"
import { type Store } from "../Store.ts"

const wrong = new Unprocessable({ error: "Invalid WebAuthn credential", code: "mfa_verification_failed" })
const tooMany = new Unprocessable({
  error: "Maximum number of keys reached, unenroll to continue",
  code: "too_many_enrolled_mfa_factors"
})

/** Refuses a key or its response; what the database answers is not a refusal. */
const orWrong = <A, E extends { readonly status: number }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapError(effect, (error) => (error.status < 500 ? wrong : error))

/** Security keys as second factors. They are those of the account, so that the service's own pages require them too. */
export const makeSecurityKeys = (
  { origins, rpId }: AccountSettings["Service"],
  store: Store,
  keys: EmbeddedKeys,
  checks: KeyChecks
) => ({
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

  /** Verifies that the factor's key was shown; `used` ends the challenge, before the key's counter is compared. */
  show: <E extends { readonly status: number }>(
    userId: string,
    keyId: string | null,
    { credential, type }: KeyProof,
    challenge: string,
    used: Effect.Effect<unknown, E>
  ) =>
    Effect.gen(function* () {
      const key = yield* keys.find(readCredential(credential)?.id, userId)
      if (type !== "request" || key === undefined || key.id !== keyId) return yield* wrong
      const counter = yield* orWrong(checks.asserted(credential, challenge, key, false))
      yield* used
      yield* orWrong(keys.counted(key.id, counter))
    }),

  remove: (userId: string, keyId: string) =>
    store.count(
      "delete from svc.identity_keys where id = $2 and identity_id = $1::text::uuid and not passkey returning 1",
      [userId, keyId]
    )
})
export type SecurityKeys = ReturnType<typeof makeSecurityKeys>
