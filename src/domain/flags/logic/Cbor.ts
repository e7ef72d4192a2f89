import { type FlagScope, RuleError } from "./Scope.ts"
import { isList } from "./Values.ts"
import { byteString } from "../../text/Utf8.ts"

// Deterministic CBOR (RFC 8949, section 4.2.1), the input of the hash in version 3 of `fractional`. A string holds one
// byte in each character.
//
// Users keep their variants only if every byte is right. Lengths, integers and floats take the shortest form that keeps
// their value; whole numbers from -2^63 to 2^64 are integers, -0 included; keys are in the order of their encoded bytes.
// cborg 6.1.5 is not used, because it is not deterministic in this sense: it writes integers beyond 2^53 as floats, and
// half-precision subnormals such as 3 * 2^-24 in four bytes.

const view = new DataView(new ArrayBuffer(8))

const bytes = (length: number): string => {
  let text = ""
  for (let i = 0; i < length; i++) text += String.fromCharCode(view.getUint8(i))
  return text
}

/** A major type and its argument, in the shortest form. */
const head = (major: number, value: bigint): string => {
  const type = major << 5
  if (value < 24n) return String.fromCharCode(type | Number(value))
  if (value < 0x100n) return String.fromCharCode(type | 24, Number(value))
  if (value < 0x1_0000n) {
    view.setUint16(0, Number(value))
    return String.fromCharCode(type | 25) + bytes(2)
  }
  if (value < 0x1_0000_0000n) {
    view.setUint32(0, Number(value))
    return String.fromCharCode(type | 26) + bytes(4)
  }
  view.setBigUint64(0, value)
  return String.fromCharCode(type | 27) + bytes(8)
}

const float = (value: number): string => {
  if (Number.isNaN(value)) return "\u00f9\u007e\u0000"
  view.setFloat16(0, value)
  if (view.getFloat16(0) === value) return `\u00f9${bytes(2)}`
  view.setFloat32(0, value)
  if (view.getFloat32(0) === value) return `\u00fa${bytes(4)}`
  view.setFloat64(0, value)
  return `\u00fb${bytes(8)}`
}

const number = (value: number): string => {
  if (!Number.isInteger(value) || value < -(2 ** 63) || value >= 2 ** 64) return float(value)
  return value < 0 ? head(1, -BigInt(value) - 1n) : head(0, BigInt(value))
}

const text = (value: string): string => {
  const utf8 = byteString(value)
  return head(3, BigInt(utf8.length)) + utf8
}

/** Maximum levels of lists and objects in a value. */
const depthLimit = 100

/** Encodes a JSON value, counting its size as work. Throws RuleError. */
export const cbor = (value: unknown, scope: FlagScope, depth = 0): string => {
  if (depth > depthLimit) throw new RuleError("fractional: the value is nested too deeply")
  if (typeof value === "string") {
    scope.spend(value.length)
    return text(value)
  }
  if (typeof value === "number") return number(value)
  if (typeof value === "bigint") return number(Number(value))
  if (typeof value === "boolean") return value ? "\u00f5" : "\u00f4"
  if (isList(value)) {
    scope.spend(16 * value.length)
    return head(4, BigInt(value.length)) + value.map((item) => cbor(item, scope, depth + 1)).join("")
  }
  if (typeof value !== "object" || value === null) return "\u00f6"
  const names = Object.keys(value)
  scope.spend(64 * names.length)
  const entries = Object.entries(value).map(([name, item]) => [text(name), cbor(item, scope, depth + 1)] as const)
  entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return head(5, BigInt(names.length)) + entries.map(([name, item]) => name + item).join("")
}
