import { createCipheriv, createDecipheriv, createHash, createSecretKey, type KeyObject, randomBytes } from "node:crypto"

/** A key of 32 bytes. `id` identifies it without revealing its bytes. */
export interface EncryptionKey {
  readonly id: string
  readonly key: KeyObject
}

const algorithm = "aes-256-gcm"
const nonceBytes = 12
const tagBytes = 16

/** Parses 32 bytes in hex or Base64 (either alphabet, padded or not); undefined for anything else. */
export const readEncryptionKey = (text: string): EncryptionKey | undefined => {
  const trimmed = text.trim()
  const hex = /^[0-9a-f]{64}$/i.test(trimmed)
  if (!hex && !/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return undefined
  const bytes = Buffer.from(trimmed, hex ? "hex" : "base64")
  const id = createHash("sha256").update("svc encryption key\0").update(bytes).digest("hex").slice(0, 16)
  return { id, key: createSecretKey(bytes) }
}

/**
 * AES-256-GCM with a random nonce of 96 bits: `1.<key id>.<nonce>.<ciphertext and tag>` in base64url. `place` is where
 * the text is stored: it can't be decrypted in another place.
 */
export const seal = ({ id, key }: EncryptionKey, text: string, place: string): string => {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(place))
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()])
  return ["1", id, nonce.toString("base64url"), sealed.toString("base64url")].join(".")
}

/** The decrypted text and the id of its key, or why it can't be decrypted. */
export type Unsealed =
  | { readonly text: string; readonly keyId: string }
  | { readonly problem: "unknown key" | "damaged"; readonly keyId: string | undefined }

export const unseal = (keys: ReadonlyArray<EncryptionKey>, sealed: string, place: string): Unsealed => {
  const [version, keyId, nonce = "", content = "", ...more] = sealed.split(".")
  const bytes = Buffer.from(content, "base64url")
  const nonceOf = Buffer.from(nonce, "base64url")
  if (version !== "1" || more.length > 0 || nonceOf.length !== nonceBytes || bytes.length < tagBytes) {
    return { problem: "damaged", keyId }
  }
  const found = keys.find(({ id }) => id === keyId)
  if (found === undefined || keyId === undefined) return { problem: "unknown key", keyId }
  const decipher = createDecipheriv(algorithm, found.key, nonceOf, { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(-tagBytes))
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()]).toString("utf8")
    return { text, keyId }
  } catch {
    return { problem: "damaged", keyId }
  }
}
