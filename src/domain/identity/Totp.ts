import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
const stepMillis = 30_000

/** A new secret for an authenticator app: 160 bits in base32 (RFC 4226 4, R6). */
export const makeTotpSecret = (): string => {
  const bits = Array.from(randomBytes(20), (byte) => byte.toString(2).padStart(8, "0")).join("")
  return (bits.match(/.{5}/g) ?? []).map((five) => alphabet[Number.parseInt(five, 2)]).join("")
}

const bytesOf = (secret: string) => {
  const bits = Array.from(secret, (letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("")
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** RFC 4226 5.3, with SHA-1 and 6 digits as all authenticator apps support them. */
const codeAt = (key: Buffer, step: number) => {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac("sha1", key).update(counter).digest()
  const number = mac.readUInt32BE((mac[mac.length - 1] ?? 0) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, "0")
}

/**
 * The time step of a code, at most one step from now in either direction (RFC 6238 5.2); undefined when the code is wrong.
 * Each step is valid once, which the caller ensures. `now`: ms since 1970.
 */
export const totpStepOf = (secret: string, code: string, now: number): number | undefined => {
  if (!/^[0-9]{6}$/.test(code)) return undefined
  const key = bytesOf(secret)
  const current = Math.floor(now / stepMillis)
  return [current, current - 1, current + 1].find((step) =>
    timingSafeEqual(Buffer.from(codeAt(key, step)), Buffer.from(code))
  )
}
