import { createHash, randomBytes } from "node:crypto"

/** RFC 4648 Base32, which has no characters that are mistaken for others when they are typed in upper case. */
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
const keyBytes = 32
const checkBytes = 3
const length = ((keyBytes + checkBytes) * 8) / 5
const groups = 4

const encode = (bytes: Uint8Array) => {
  let text = ""
  let [bits, value] = [0, 0]
  for (const byte of bytes) {
    value = (value << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += alphabet[(value >> bits) & 31]
    }
    value &= (1 << bits) - 1
  }
  return bits === 0 ? text : text + alphabet[(value << (5 - bits)) & 31]
}

const decode = (text: string): Buffer | undefined => {
  const bytes: Array<number> = []
  let [bits, value] = [0, 0]
  for (const character of text) {
    const at = alphabet.indexOf(character)
    if (at === -1) return undefined
    value = (value << 5) | at
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes.push((value >> bits) & 255)
      value &= (1 << bits) - 1
    }
  }
  return value === 0 ? Buffer.from(bytes) : undefined
}

const checkOf = (bytes: Uint8Array) =>
  createHash("sha256").update("svc recovery key\0").update(bytes).digest().subarray(0, checkBytes)

export const newRecoveryKey = (): Buffer => randomBytes(keyBytes)

/** 56 characters in groups of four; the last three bytes are a checksum, so that a typing error is noticed. */
export const formatRecoveryKey = (key: Uint8Array): string =>
  (encode(Buffer.concat([key, checkOf(key)])).match(new RegExp(`.{1,${groups}}`, "g")) ?? []).join("-")

/** The 32 bytes of a recovery key, which may be typed in any case, with any spaces or hyphens; undefined for other texts. */
export const parseRecoveryKey = (text: string): Buffer | undefined => {
  const characters = text.toUpperCase().replaceAll(/[\s-]/g, "")
  const bytes = characters.length === length ? decode(characters) : undefined
  if (bytes?.length !== keyBytes + checkBytes) return undefined
  const key = bytes.subarray(0, keyBytes)
  return checkOf(key).equals(bytes.subarray(keyBytes)) ? key : undefined
}
