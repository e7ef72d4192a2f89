import { type FlagScope } from "./Scope.ts"

/** `1`, `1.2` or `1.2.3`, the last optionally with pre-release and build metadata; a leading `v` or `V` is allowed. */
const version =
  /^[vV]?(0|[1-9]\d*)(?:\.(0|[1-9]\d*)(?:\.(0|[1-9]\d*)(?:-([\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*))?(?:\+[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?)?)?$/

interface Version {
  readonly major: string
  readonly minor: string
  readonly patch: string
  /** Empty if there is none. */
  readonly prerelease: string
}

const numeric = /^\d+$/

const parsedVersion = (value: unknown): Version | undefined => {
  const text = typeof value === "string" ? value : shortNumber(value)
  const match = version.exec(text)
  if (match === null) return undefined
  const [, major = "", minor = "0", patch = "0", prerelease = ""] = match
  if (
    prerelease !== "" &&
    prerelease.split(".").some((part) => part.length > 1 && part.startsWith("0") && numeric.test(part))
  )
    return undefined
  return { major, minor, patch, prerelease }
}

/** A number as version text; "" for negative numbers and for those that Go prints with an exponent, as from a million. */
const shortNumber = (value: unknown): string => {
  if (typeof value === "bigint") return String(value)
  if (typeof value !== "number" || Object.is(value, -0)) return ""
  return value === 0 || (value >= 1e-4 && value < 1e6) ? String(value) : ""
}

/** Digits without leading zeros, of any length. */
const compareDigits = (a: string, b: string): number => {
  if (a === b) return 0
  if (a.length !== b.length) return a.length < b.length ? -1 : 1
  return a < b ? -1 : 1
}

const comparePrereleases = (a: string, b: string): number => {
  if (a === b) return 0
  if (a === "") return 1
  if (b === "") return -1
  const left = a.split(".")
  const right = b.split(".")
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const x = left[i] ?? ""
    const y = right[i] ?? ""
    if (x === y) continue
    const xNumeric = numeric.test(x)
    if (xNumeric !== numeric.test(y)) return xNumeric ? -1 : 1
    return xNumeric ? compareDigits(x, y) : x < y ? -1 : 1
  }
  return left.length < right.length ? -1 : 1
}

const compareVersions = (a: Version, b: Version): number =>
  compareDigits(a.major, b.major) ||
  compareDigits(a.minor, b.minor) ||
  compareDigits(a.patch, b.patch) ||
  comparePrereleases(a.prerelease, b.prerelease)

/**
 * `sem_ver` of [value, operator, target]; null for other arguments. `^` means the same major version, `~` the same major
 * and minor version, both without a lower bound.
 */
export const semver = (values: ReadonlyArray<unknown>, scope: FlagScope): boolean | null => {
  if (values.length !== 3) return null
  for (const value of values) if (typeof value === "string") scope.spend(value.length)
  const value = parsedVersion(values[0])
  const target = parsedVersion(values[2])
  if (value === undefined || target === undefined) return null
  switch (values[1]) {
    case "=":
      return compareVersions(value, target) === 0
    case "!=":
      return compareVersions(value, target) !== 0
    case "<":
      return compareVersions(value, target) < 0
    case "<=":
      return compareVersions(value, target) <= 0
    case ">":
      return compareVersions(value, target) > 0
    case ">=":
      return compareVersions(value, target) >= 0
    case "^":
      return value.major === target.major
    case "~":
      return value.major === target.major && value.minor === target.minor
    default:
      return null
  }
}
