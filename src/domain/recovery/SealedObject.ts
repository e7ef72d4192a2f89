import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from "node:crypto"

/**
 * An object of an archive: `SVCA`, the version of the format, a random nonce of 96 bits, and AES-256-GCM of the content
 * with its tag (NIST SP 800-38D). Its name is authenticated: an object that is moved to another name does not open.
 */
const magic = Buffer.from("SVCA\u0001", "latin1")
const nonceBytes = 12
const tagBytes = 16

export const sealObject = (key: KeyObject, name: string, content: Uint8Array): Buffer => {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes })
  cipher.setAAD(Buffer.from(name, "utf8"))
  return Buffer.concat([magic, nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()])
}

/** Undefined if the object is damaged, was sealed with another key, or has another name. */
export const openObject = (key: KeyObject, name: string, sealed: Buffer): Buffer | undefined => {
  const from = magic.length + nonceBytes
  if (sealed.length < from + tagBytes || !sealed.subarray(0, magic.length).equals(magic)) return undefined
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(magic.length, from), {
    authTagLength: tagBytes
  })
  decipher.setAAD(Buffer.from(name, "utf8")).setAuthTag(sealed.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(from, -tagBytes)), decipher.final()])
  } catch {
    return undefined
  }
}
