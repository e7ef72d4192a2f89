import { cbor } from "./Cbor.ts"
import { type FlagScope } from "./Scope.ts"
import { isList } from "./Values.ts"
import MurmurHash3 from "imurmurhash"
import { isJsonObject, type JsonObject } from "../../text/JsonObject.ts"
import { byteString } from "../../text/Utf8.ts"

// oxlint-disable-next-line no-control-regex -- matches all of ASCII
const ascii = /^[\u0000-\u007f]*$/

/** MurmurHash3 (x86, 32 bits, seed 0) of a string with one byte in each character: 0 to 4,294,967,295. */
export const hashBytes = (latin1: string): number => MurmurHash3(latin1, 0).result()

/** The hash of a text in UTF-8. */
export const hashText = (text: string): number => hashBytes(ascii.test(text) ? text : byteString(text))

/** Maximum sum of weights. */
const weightLimit = 2 ** 31 - 1

/** The integer weight of a bucket, at least 0; undefined if it is invalid. */
const weightOf = (bucket: ReadonlyArray<unknown>): number | undefined => {
  const weight = bucket.length < 2 ? null : (bucket[1] ?? null)
  if (weight === null) return 1
  if (typeof weight !== "number" || !Number.isInteger(weight) || weight < -(2 ** 63) || weight > weightLimit)
    return undefined
  return Math.max(0, weight)
}

const isVariant = (value: unknown): boolean =>
  value === null || typeof value === "string" || typeof value === "boolean" || typeof value === "number"

/** floor(hash * total / 2 ** 32), in halves of 16 bits, because a double can't hold the product. */
const positionOf = (hash: number, total: number): number => {
  const low = Math.floor((total * (hash & 0xffff)) / 65_536)
  return Math.floor((total * (hash >>> 16) + low) / 65_536)
}

/** The variant of the bucket of a hash; null if a bucket is invalid. */
const distribute = (hash: number, buckets: ReadonlyArray<unknown>, first: number): unknown => {
  let total = 0
  for (let i = first; i < buckets.length; i++) {
    const bucket = buckets[i]
    if (!isList(bucket) || bucket.length === 0 || !isVariant(bucket[0] ?? null)) return null
    const weight = weightOf(bucket)
    if (weight === undefined) return null
    total += weight
  }
  if (total > weightLimit) return null
  const position = positionOf(hash, total)
  let end = 0
  for (let i = first; i < buckets.length; i++) {
    const bucket = buckets[i]
    if (!isList(bucket)) return null
    end += weightOf(bucket) ?? 0
    if (position < end) return bucket[0] ?? null
  }
  return null
}

const own = (data: JsonObject, name: string): unknown => (Object.hasOwn(data, name) ? data[name] : null)

/** Flag key and targeting key, the default bucketing key; undefined without a targeting key. */
const identity = (data: JsonObject): readonly [string, string] | undefined => {
  const targetingKey = own(data, "targetingKey")
  if (typeof targetingKey !== "string" || targetingKey === "") return undefined
  const flagd = own(data, "$flagd")
  const flagKey = isJsonObject(flagd) ? own(flagd, "flagKey") : ""
  return [typeof flagKey === "string" ? flagKey : "", targetingKey]
}

/**
 * `fractional` of [value to hash, [variant, weight], …] or of [variant, weight] pairs alone; null for other arguments. A
 * value stays in its bucket as long as the buckets stay the same.
 */
export const fractional = (values: ReadonlyArray<unknown>, scope: FlagScope): unknown => {
  const { data } = scope
  if (values.length === 0 || !isJsonObject(data)) return null
  const first = values[0] ?? null
  return scope.hashing === "v2" ? byText(first, values, data, scope) : byValue(first, values, data, scope)
}

/** flagd 0.15 and 0.16: hashes texts as they are, and the default bucketing key instead of other values. */
const byText = (first: unknown, values: ReadonlyArray<unknown>, data: JsonObject, scope: FlagScope): unknown => {
  if (typeof first === "string") {
    scope.spend(first.length)
    return distribute(hashText(first), values, 1)
  }
  const user = identity(data)
  if (user === undefined) return null
  scope.spend(user[1].length)
  return distribute(hashText(user[0] + user[1]), values, first === null ? 1 : 0)
}

/** The next version of flagd: hashes values of any type as CBOR, and has no bucket for null. */
const byValue = (first: unknown, values: ReadonlyArray<unknown>, data: JsonObject, scope: FlagScope): unknown => {
  if (first === null) return null
  const value = isList(first) ? identity(data) : first
  if (value === undefined) return null
  const encoded = cbor(value, scope)
  scope.spend(encoded.length)
  return distribute(hashBytes(encoded), values, isList(first) ? 0 : 1)
}
