import ipaddr from "ipaddr.js"

/** Whether `text` matches `pattern`, where `*` matches any text and `?` any single character. */
export const matchesWildcards = (pattern: string, text: string): boolean => {
  // Only the last star's match is ever extended: no backtracking beyond it is needed.
  let [p, t, star, from] = [0, 0, -1, 0]
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++
      from = t
    } else if (p < pattern.length && (pattern[p] === "?" || pattern[p] === text[t])) {
      p++
      t++
    } else if (star !== -1) {
      p = star + 1
      t = ++from
    } else return false
  }
  while (pattern[p] === "*") p++
  return p === pattern.length
}

/** The condition keys of a request, in lower case; absent keys have no value. */
export type PolicyContext = ReadonlyMap<string, string>

export type PolicyCondition = (context: PolicyContext) => boolean

/** The supported condition keys. */
const conditionKeys = new Set(
  [
    "aws:CurrentTime aws:EpochTime aws:PrincipalAccount aws:PrincipalArn aws:PrincipalType aws:Referer",
    "aws:SecureTransport aws:SourceIp aws:UserAgent aws:userid aws:username s3:authType s3:delimiter s3:if-match",
    "s3:if-none-match s3:max-keys s3:prefix s3:ResourceAccount s3:signatureAge s3:signatureversion s3:versionid",
    "s3:x-amz-acl s3:x-amz-content-sha256 s3:x-amz-copy-source s3:x-amz-metadata-directive",
    "s3:x-amz-server-side-encryption s3:x-amz-storage-class"
  ]
    .flatMap((line) => line.split(" "))
    .map((key) => key.toLowerCase())
)

type Test = (expected: string) => ((found: string) => boolean) | undefined

const number =
  (compare: (a: number, b: number) => boolean): Test =>
  (expected) => {
    const value = Number(expected)
    return expected.trim() === "" || Number.isNaN(value) ? undefined : (found) => compare(Number(found), value)
  }

const time = (text: string) => (/^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text))
const date =
  (compare: (a: number, b: number) => boolean): Test =>
  (expected) => {
    const value = time(expected)
    return Number.isNaN(value) ? undefined : (found) => compare(time(found), value)
  }

const inNetwork: Test = (expected) => {
  const text = expected.includes("/") ? expected : `${expected}/${expected.includes(":") ? 128 : 32}`
  if (!ipaddr.isValidCIDR(text)) return undefined
  const [network, bits] = ipaddr.parseCIDR(text)
  return (found) => {
    if (!ipaddr.isValid(found)) return false
    const address = ipaddr.process(found)
    return address.kind() === network.kind() && address.match(network, bits)
  }
}

const boolean: Test = (expected) =>
  /^(?:true|false)$/i.test(expected) ? (found) => found.toLowerCase() === expected.toLowerCase() : undefined

const tests: Readonly<Record<string, Test>> = {
  StringEquals: (expected) => (found) => found === expected,
  StringEqualsIgnoreCase: (expected) => (found) => found.toLowerCase() === expected.toLowerCase(),
  StringLike: (expected) => (found) => matchesWildcards(expected, found),
  ArnEquals: (expected) => (found) => matchesWildcards(expected, found),
  ArnLike: (expected) => (found) => matchesWildcards(expected, found),
  NumericEquals: number((a, b) => a === b),
  NumericLessThan: number((a, b) => a < b),
  NumericLessThanEquals: number((a, b) => a <= b),
  NumericGreaterThan: number((a, b) => a > b),
  NumericGreaterThanEquals: number((a, b) => a >= b),
  DateEquals: date((a, b) => a === b),
  DateLessThan: date((a, b) => a < b),
  DateLessThanEquals: date((a, b) => a <= b),
  DateGreaterThan: date((a, b) => a > b),
  DateGreaterThanEquals: date((a, b) => a >= b),
  Bool: boolean,
  IpAddress: inNetwork
}

const negations: Readonly<Record<string, string>> = {
  StringNotEquals: "StringEquals",
  StringNotEqualsIgnoreCase: "StringEqualsIgnoreCase",
  StringNotLike: "StringLike",
  ArnNotEquals: "ArnEquals",
  ArnNotLike: "ArnLike",
  NumericNotEquals: "NumericEquals",
  DateNotEquals: "DateEquals",
  NotIpAddress: "IpAddress"
}

/**
 * Compiles one operator with a key and its values; returns a message if they are invalid. A key without a value in the
 * request fails the condition, except with `…IfExists` and negated operators.
 */
export const parseCondition = (
  operator: string,
  key: string,
  values: ReadonlyArray<string>
): PolicyCondition | string => {
  const lower = key.toLowerCase()
  if (!conditionKeys.has(lower)) return `Policy has an invalid condition key: ${key}`
  if (values.length === 0) return `Policy has a condition without values: ${operator}`
  if (operator === "Null") {
    const [wanted] = values
    if (values.length > 1 || !/^(?:true|false)$/i.test(wanted ?? "")) return "Null must be true or false"
    return (context) => context.has(lower) === (wanted?.toLowerCase() === "false")
  }
  const optional = operator.endsWith("IfExists")
  const base = optional ? operator.slice(0, -"IfExists".length) : operator
  const negated = negations[base]
  const test = Object.hasOwn(tests, negated ?? base) ? tests[negated ?? base] : undefined
  if (test === undefined) return `Invalid Condition type: ${operator}`
  const checks: Array<(found: string) => boolean> = []
  for (const value of values) {
    if (value.includes("${")) return `Policy variables are not supported: ${value}`
    const check = test(value)
    if (check === undefined) return `Invalid value for ${operator}: ${value}`
    checks.push(check)
  }
  return (context) => {
    const found = context.get(lower)
    if (found === undefined) return optional || negated !== undefined
    return checks.some((check) => check(found)) !== (negated !== undefined)
  }
}
