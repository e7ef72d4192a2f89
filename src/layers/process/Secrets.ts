import { Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { readEncryptionKey } from "../../domain/connections/SealedText.ts"
import { secret, SettingError } from "../../domain/Settings.ts"
import { EncryptionKeys } from "../../services/ports/EncryptionKeys.ts"
import { JwtSecret } from "../../services/access/Tokens.ts"
import { DataDir } from "./DataDir.ts"

/** SVC_JWT_SECRET. */
export const givenJwtSecret = secret("SVC_JWT_SECRET")

/** SVC_JWT_SECRET, if it is set. */
export const layerJwtSecret = Layer.effect(
  JwtSecret,
  Effect.map(givenJwtSecret, (secret) => ({ secret }))
)

/** SVC_JWT_SECRET, or a secret generated at the first start and stored in the data directory. */
export const layerJwtSecretKept = Layer.effect(
  JwtSecret,
  Effect.gen(function* () {
    const dir = yield* DataDir
    const secret =
      (yield* givenJwtSecret) ?? (yield* dir.secret("jwt_secret", () => randomBytes(48).toString("base64url")))
    return { secret }
  })
)

const readKey = (name: string, text: string) => {
  const key = readEncryptionKey(text)
  // The message does not repeat the value, which may be a key with a typing error.
  return key === undefined
    ? Effect.fail(new SettingError({ message: `${name} must be 32 bytes, as 64 hexadecimal digits or in Base64` }))
    : Effect.succeed(key)
}

/** SVC_ENCRYPTION_KEY and SVC_ENCRYPTION_KEYS_OLD. */
export const givenKeys = Effect.gen(function* () {
  const current = yield* secret("SVC_ENCRYPTION_KEY")
  const old = yield* secret("SVC_ENCRYPTION_KEYS_OLD")
  const texts = old === undefined ? [] : Redacted.value(old).split(",")
  return {
    current: current && (yield* readKey("SVC_ENCRYPTION_KEY", Redacted.value(current))),
    old: yield* Effect.forEach(texts, (text) => readKey("SVC_ENCRYPTION_KEYS_OLD", text))
  }
})

/** SVC_ENCRYPTION_KEY, if it is set. */
export const layerEncryptionKeys = Layer.effect(
  EncryptionKeys,
  Effect.gen(function* () {
    const { current, old } = yield* givenKeys
    if (current === undefined && old.length > 0) {
      return yield* new SettingError({
        message: "SVC_ENCRYPTION_KEYS_OLD requires SVC_ENCRYPTION_KEY: set it to the current key"
      })
    }
    return { current, old }
  })
)

/** SVC_ENCRYPTION_KEY, or a key generated at the first start and stored; a stored key remains usable for decryption. */
export const layerEncryptionKeysKept = Layer.effect(
  EncryptionKeys,
  Effect.gen(function* () {
    const dir = yield* DataDir
    const { current, old } = yield* givenKeys
    const name = "encryption_key"
    if (current === undefined) {
      const generated = yield* dir.secret(name, () => randomBytes(32).toString("base64"))
      return { current: yield* readKey(`${name} in secrets.json`, Redacted.value(generated)), old }
    }
    const kept = yield* dir.stored(name)
    const before = kept && readEncryptionKey(Redacted.value(kept))
    return { current, old: before === undefined ? old : [...old, before] }
  })
)
