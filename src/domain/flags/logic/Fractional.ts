import { cbor } from "./Cbor.ts"
import { type FlagScope } from "./Scope.ts"
import { isList } from "./Values.ts"
import MurmurHash3 from "imurmurhash"
import { isJsonObject, type JsonObject } from "../../text/JsonObject.ts"

// oxlint-disable-next-line no-control-regex -- all of ASCII is meant
const ascii = /^[\u0000-\u007f]*$/

/** MurmurHash3 (x86, 32 bits, seed 0) of bytes that are given one a character: 0 to 4,294,967,295. */
export const hashBytes = (latin1: string): number => MurmurHash3(latin1, 0).result()

/** The same of a text's UTF-8. */
export const hashText = (text: string): number =>
  hashBytes(ascii.test(text) ? text : Buffer.from(text, "utf8").toString("latin1"))

/** The largest sum of weights. */
const weightLimit = 2 ** 31 - 1

/** The whole weight of a bucket, at least 0; undefined for what is none. */
const weightOf = (bucket: ReadonlyArray<unknown>): number | undefined => {
  const weight = bucket.length < 2 ? null : (bucket[1] ?? null)
  if (weight === null) return 1
  if (typeof weight !== "number" || !Number.isInteger(weight) || weight < -(2 ** 63) || weight > weightLimit)
    return undefined
  return Math.max(0, weight)
}

const isVariant = (value: unknown): boolean =>
  value === null || typeof value === "string" || typeof value === "boolean" || typeof value === "number"

/** hash * total / 2 ** 32, cut off: in halves of 16 bits, since the product itself does not fit a double. */
const bucketOf = (hash: number, total: number): number => {
  const low = Math.floor((total * (hash & 0xffff)) / 65_536)
  return Math.floor((total * (hash >>> 16) + low) / 65_536)
}

/** The variant of the bucket a hash falls into, null when the buckets are badly made. */
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
  const wanted = bucketOf(hash, total)
  let end = 0
  for (let i = first; i < buckets.length; i++) {
    const bucket = buckets[i]
    if (!isList(bucket)) return null
    end += weightOf(bucket) ?? 0
    if (wanted < end) return bucket[0] ?? null
  }
  return null
}

const own = (data: JsonObject, name: string): unknown => (Object.hasOwn(data, name) ? data[name] : null)

/** Flag key and targeting key: what users are told apart by when the rule names nothing. */
const identity = (data: JsonObject): readonly [string, string] | undefined => {
  const targetingKey = own(data, "targetingKey")
  if (typeof targetingKey !== "string" || targetingKey === "") return undefined
  const flagd = own(data, "$flagd")
  const flagKey = isJsonObject(flagd) ? own(flagd, "flagKey") : ""
  return [typeof flagKey === "string" ? flagKey : "", targetingKey]
}

/**
 * `fractional` of [value to hash, [variant, weight], …] or only [variant, weight]s. Null when that is not what it has.
 * The same value falls into the same bucket as long as the buckets are the same.
 */
export const fractional = (values: ReadonlyArray<unknown>, scope: FlagScope): unknown => {
  const { data } = scope
  if (values.length === 0 || !isJsonObject(data)) return null
  const first = values[0] ?? null
  return scope.hashing === "v2" ? byText(first, values, data, scope) : byValue(first, values, data, scope)
}

/** flagd 0.15 and 0.16: texts are hashed as they are, a value that is missing as the targeting key. */
const byText = (first: unknown, values: ReadonlyArray<unknown>, data: JsonObject, scope: FlagScope): unknown => {
  if (typeof first === "string") {
    scope.spend(first.length)
    return distribute(hashText(first), values, 1)
  }
  const who = identity(data)
  if (who === undefined) return null
  scope.spend(who[1].length)
  return distribute(hashText(who[0] + who[1]), values, first === null ? 1 : 0)
}

/** What flagd has decided on for a later version: values of any type are hashed as CBOR, and null is none. */
const byValue = (first: unknown, values: ReadonlyArray<unknown>, data: JsonObject, scope: FlagScope): unknown => {
  if (first === null) return null
  const value = isList(first) ? identity(data) : first
  if (value === undefined) return null
  const encoded = cbor(value, scope)
  scope.spend(encoded.length)
  return distribute(hashBytes(encoded), values, isList(first) ? 0 : 1)
}
