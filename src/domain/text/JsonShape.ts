import { InvalidRequest } from "../errors.ts"

/** Bounds of JSON text before it is decoded: an object of many keys costs two microseconds for each. */
export interface JsonBounds {
  /** Levels of arrays and objects. */
  readonly depth: number
  /** Keys of all objects. */
  readonly keys: number
  /** Values of all arrays and objects. */
  readonly values: number
}

/** The bounds of any body and message. */
export const bodyBounds: JsonBounds = { depth: 200, keys: 20_000, values: 100_000 }

const [quote, backslash, comma, colon, bracket, brace] = [0x22, 0x5c, 0x2c, 0x3a, 0x5b, 0x7b]

/**
 * The error of JSON text that exceeds the bounds; undefined if it does not. It looks at each byte once, makes nothing, and
 * stops at the first excess. Whether the text is JSON is not its question.
 */
export const jsonExcess = (bytes: Uint8Array, bounds: JsonBounds): InvalidRequest | undefined => {
  let [depth, keys, values] = [0, 0, 0]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) {
      at++
      while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
    } else if (byte === comma) {
      if (++values > bounds.values) return tooMany(bounds.values, "values")
    } else if (byte === colon) {
      if (++keys > bounds.keys) return tooMany(bounds.keys, "keys")
    } else if (byte === bracket || byte === brace) {
      if (++depth > bounds.depth) return tooMany(bounds.depth, "levels of nesting")
      if (++values > bounds.values) return tooMany(bounds.values, "values")
    } else if (byte === bracket + 2 || byte === brace + 2) depth--
  }
  return undefined
}

const tooMany = (most: number, what: string) =>
  new InvalidRequest({
    error: `The JSON has more than ${most} ${what}`,
    code: "JSON_TOO_COMPLEX",
    hint: what === "levels of nesting" ? "Nest fewer arrays and objects" : "Send it in several requests"
  })
