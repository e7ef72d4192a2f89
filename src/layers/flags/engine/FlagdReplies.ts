import { type FlagEnvironment } from "../../../domain/flags/Environment.ts"
import { jsonProblems } from "../../../domain/flags/Json.ts"
import { type FlagResult, type FlagSetMetadata, type FlagValue } from "../../../domain/flags/Evaluation.ts"
import { isJsonObject } from "../../../domain/text/JsonObject.ts"

/** The result of one flag in flagd; "missing": flagd does not have it in that environment. */
export type FlagdFlag = FlagResult | "missing"

/** The reasons of flagd, and the synonyms that OpenFeature defines for them. */
const reasons: ReadonlyMap<unknown, FlagValue["reason"]> = new Map([
  ["STATIC", "STATIC"],
  ["CACHED", "STATIC"],
  ["TARGETING_MATCH", "TARGETING_MATCH"],
  ["SPLIT", "TARGETING_MATCH"],
  ["DEFAULT", "DEFAULT"],
  ["FALLBACK", "DEFAULT"],
  ["DISABLED", "DISABLED"]
])

/** Limits of a value, above those of variants. */
const bounds = { depth: 200, nodes: Number.POSITIVE_INFINITY, stored: false }

/** Undefined unless it names the environment and a version, which the sync port sends with each flag set. */
const metadataOf = (given: unknown, environment: FlagEnvironment): FlagSetMetadata | undefined => {
  if (!isJsonObject(given)) return undefined
  const { flagSetId, version } = given
  return flagSetId === environment && typeof version === "string" && /^\d{1,15}$/.test(version)
    ? { flagSetId: environment, version }
    : undefined
}

/** One flag of a response; undefined: it is not as expected. */
const flagOf = (body: unknown, environment: FlagEnvironment): FlagdFlag | undefined => {
  if (!isJsonObject(body)) return undefined
  const { errorCode, errorDetails, key, reason, value, variant } = body
  if (typeof key !== "string") return undefined
  if (errorCode === "FLAG_NOT_FOUND") return "missing"
  const metadata = metadataOf(body["metadata"], environment)
  if (metadata === undefined) return undefined
  if (errorCode !== undefined) {
    if (errorCode !== "PARSE_ERROR" && errorCode !== "GENERAL") return undefined
    const details = typeof errorDetails === "string" ? errorDetails.slice(0, 500) : "flagd gave no details"
    return { key, reason: "ERROR", errorCode, errorDetails: details, metadata }
  }
  const known = reasons.get(reason)
  if (known === undefined) return undefined
  if (variant === undefined && value === undefined) return { key, reason: known, metadata }
  return typeof variant === "string" && value !== undefined && jsonProblems(value, bounds).length === 0
    ? { key, reason: known, variant, value, metadata }
    : undefined
}

/** The response to a request for one flag; undefined: it is not as expected. */
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

/** The response to a request for all flags; undefined: it is not as expected. */
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
