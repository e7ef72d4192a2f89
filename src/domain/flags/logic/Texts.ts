import { fractional } from "./Fractional.ts"
import { trimmedText, wholeNumber } from "./NumberText.ts"
import { type FlagScope, type ScopedOperator, RuleError, ofValues } from "./Scope.ts"
import { semver } from "./Semver.ts"
import { isList, listOf, toNumber, toText } from "./Values.ts"

/** Concatenates strings and numbers and trims the result; a single one is not trimmed. */
const concatenation = (values: unknown, scope: FlagScope): string => {
  if (typeof values === "string") return values
  const given = listOf(values, "cat")
  if (given.length === 1) return toText(given[0])
  let all = ""
  for (const value of given) {
    const text = toText(value)
    scope.spend(text.length)
    all += text
  }
  return trimmedText(all)
}

const surrogate = /[\ud800-\udfff]/

/** `substr` of [text, from, length], in code points; negative numbers count from the end. */
const part = (values: unknown, scope: FlagScope): string => {
  const given = listOf(values, "substr")
  const text = toText(given[0])
  if (given.length < 2) throw new RuleError("substr needs a string and a start")
  scope.spend(text.length >> 4)
  let points: string | ReadonlyArray<string> = text
  if (surrogate.test(text)) {
    scope.spend(text.length)
    points = Array.from(text)
  }
  const size = points.length
  let from = wholeNumber(toNumber(given[1], scope))
  if (from < 0) from += size
  if (from < 0 || from > size) return text
  const length = given.length === 3 ? wholeNumber(toNumber(given[2], scope)) : size
  const to = Math.min(length < 0 ? size + length : from + length, size)
  if (to < from) throw new RuleError("substr: the end is before the start")
  const cut = points.slice(from, to)
  return typeof cut === "string" ? cut : cut.join("")
}

/** An operator on exactly two strings; null for other arguments. */
const ofTwoTexts = (compare: (text: string, other: string) => boolean): ScopedOperator =>
  ofValues((values, scope) => {
    if (!isList(values) || values.length !== 2) return null
    const [text, other] = values
    if (typeof text !== "string" || typeof other !== "string") return null
    scope.spend(other.length >> 4)
    return compare(text, other)
  })

export const texts: Readonly<Record<string, ScopedOperator>> = {
  cat: ofValues(concatenation),
  substr: ofValues(part),
  starts_with: ofTwoTexts((text, prefix) => text.startsWith(prefix)),
  ends_with: ofTwoTexts((text, suffix) => text.endsWith(suffix)),
  sem_ver: ofValues((values, scope) => (isList(values) ? semver(values, scope) : null)),
  fractional: ofValues((values, scope) => (isList(values) ? fractional(values, scope) : null))
}
