import { Context, Effect, Layer } from "effect"
import { type EncryptionKey, readEncryptionKey, seal, unseal } from "../../domain/connections/SealedText.ts"
import { Unavailable } from "../../domain/errors.ts"
import { EncryptionKeys } from "../ports/EncryptionKeys.ts"
import { IdentitySignatures } from "./Signatures.ts"

const unreadable = new Unavailable({
  error:
    "A stored secret can't be decrypted: restore SVC_ENCRYPTION_KEY, or list the old key in SVC_ENCRYPTION_KEYS_OLD",
  code: "SECRET_UNREADABLE",
  retry_after: 60
})

/**
 * Encrypts the secrets of accounts and the signing keys that are stored in the database: with SVC_ENCRYPTION_KEY, else with
 * a key from svc.identity_secret. The latter protects a column that leaks, but not a dump of the whole database.
 */
export class IdentitySeals extends Context.Service<
  IdentitySeals,
  {
    /** `place`: where the text is stored; it can't be decrypted elsewhere. */
    readonly seal: (place: string, text: string) => Effect.Effect<string, Unavailable>
    /** 503 `SECRET_UNREADABLE` if the key is missing. */
    readonly unseal: (place: string, sealed: string) => Effect.Effect<string, Unavailable>
  }
>()("svc/services/IdentitySeals") {
  static readonly layer = Layer.effect(
    IdentitySeals,
    Effect.gen(function* () {
      const { current, old } = yield* EncryptionKeys
      const signatures = yield* IdentitySignatures
      /** 43 characters of base64url are the 32 bytes of a key. */
      const own = Effect.map(signatures.sign("seal", "key"), (text) => readEncryptionKey(text) as EncryptionKey)
      return IdentitySeals.of({
        seal: (place, text) =>
          Effect.map(current === undefined ? own : Effect.succeed(current), (key) => seal(key, text, place)),
        unseal: Effect.fnUntraced(function* (place, sealed) {
          const keys = [...(current === undefined ? [] : [current]), ...old, yield* own]
          const opened = unseal(keys, sealed, place)
          if ("text" in opened) return opened.text
          yield* Effect.logError(`Failed to decrypt ${place}: ${opened.problem}`)
          return yield* unreadable
        })
      })
    })
  )
}
