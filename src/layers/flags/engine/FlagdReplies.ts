import { type FlagEnvironment } from "../../../domain/flags/Environment.ts"
import { jsonProblems } from "../../../domain/flags/Json.ts"
import { type FlagResult, type FlagSetMetadata, type FlagValue } from "../../../domain/flags/Evaluation.ts"
import { isJsonObject } from "../../../domain/text/JsonObject.ts"

/** What flagd says of one flag; "missing": it has no such flag in that environment. */
export type FlagdFlag = FlagResult | "missing"

/** Ours among flagd's reasons, and the others that OpenFeature knows for the same. */
const reasons: ReadonlyMap<unknown, FlagValue["reason"]> = new Map([
  ["STATIC", "STATIC"],
  ["CACHED", "STATIC"],
  ["TARGETING_MATCH", "TARGETING_MATCH"],
  ["SPLIT", "TARGETING_MATCH"],
  ["DEFAULT", "DEFAULT"],
  ["FALLBACK", "DEFAULT"],
  ["DISABLED", "DISABLED"]
])

/** Of a value: more than any variant of ours has. */
const limits = { depth: 200, nodes: Number.POSITIVE_INFINITY, stored: false }

/** Undefined unless it is of the environment, and from our sync endpoint, which numbers what it sends. */
const metadataOf = (given: unknown, environment: FlagEnvironment): FlagSetMetadata | undefined => {
  if (!isJsonObject(given)) return undefined
  const { flagSetId, version } = given
  return flagSetId === environment && typeof version === "string" && /^\d{1,15}$/.test(version)
    ? { flagSetId: environment, version }
    : undefined
}

/** Of one flag in an answer that was good on the whole; undefined: it has no meaning. */
const flagOf = (body: unknown, environment: FlagEnvironment): FlagdFlag | undefined => {
  if (!isJsonObject(body)) return undefined
  const { errorCode, errorDetails, key, reason, value, variant } = body
  if (typeof key !== "string") return undefined
  if (errorCode === "FLAG_NOT_FOUND") return "missing"
  const metadata = metadataOf(body["metadata"], environment)
  if (metadata === undefined) return undefined
  if (errorCode !== undefined) {
    if (errorCode !== "PARSE_ERROR" && errorCode !== "GENERAL") return undefined
    const details = typeof errorDetails === "string" ? errorDetails.slice(0, 500) : "flagd gives no details"
    return { key, reason: "ERROR", errorCode, errorDetails: details, metadata }
  }
  const known = reasons.get(reason)
  if (known === undefined) return undefined
  if (variant === undefined && value === undefined) return { key, reason: known, metadata }
  return typeof variant === "string" && value !== undefined && jsonProblems(value, limits).length === 0
    ? { key, reason: known, variant, value, metadata }
    : undefined
}

/** What flagd answered when asked for one flag; undefined: nothing that has a meaning. */
export const readFlag = (
  key: string,
  environment: FlagEnvironment,
  status: number,
  body: unknown
): FlagdFlag | undefined => {
  if (status !== 200 && status !== 400 && status !== 404) return undefined
  const flag = flagOf(body, environment)
  const expected = flag === "missing" ? 404 : flag?.reason === "ERROR" ? 400 : 200
  if (status !== expected || !isJsonObject(body) || body["key"] !== key) return undefined
  return flag
}

/** What flagd answered when asked for all flags; undefined: nothing that has a meaning. */
export const readFlags = (
  environment: FlagEnvironment,
  status: number,
  body: unknown
): ReadonlyArray<FlagResult> | undefined => {
  if (status !== 200 || !isJsonObject(body) || !Array.isArray(body["flags"])) return undefined
  const flags: Array<FlagResult> = []
  for (const one of body["flags"] as ReadonlyArray<unknown>) {
    const flag = flagOf(one, environment)
    if (flag === undefined || flag === "missing") return undefined
    flags.push(flag)
  }
  return flags
}
