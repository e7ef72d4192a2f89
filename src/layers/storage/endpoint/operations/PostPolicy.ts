import { s3Error } from "../Error.ts"

/** A form's policy: its expiration, the conditions on fields, and the size limits. */
export interface PostPolicy {
  /** Ms since the epoch. */
  readonly expiration: number
  readonly conditions: ReadonlyArray<PostCondition>
  readonly minimum: number
  readonly maximum: number
}

interface PostCondition {
  readonly kind: "eq" | "starts-with"
  /** The name in lower case. */
  readonly field: string
  readonly value: string
}

const invalid = (why: string) => s3Error("InvalidPolicyDocument", `Invalid Policy: ${why}`)

/** Parses the Base64 of a policy. Throws InvalidPolicyDocument. */
export const parsePostPolicy = (base64: string): PostPolicy => {
  let document: unknown
  try {
    document = JSON.parse(Buffer.from(base64, "base64").toString("utf8"))
  } catch {
    throw invalid("Invalid JSON.")
  }
  const { conditions, expiration } = (document ?? {}) as Readonly<Record<string, unknown>>
  const until = typeof expiration === "string" ? Date.parse(expiration) : Number.NaN
  if (Number.isNaN(until)) throw invalid("Invalid 'expiration' value.")
  if (!Array.isArray(conditions)) throw invalid("Invalid 'conditions' value.")
  const parsed: Array<PostCondition> = []
  let range = { minimum: 0, maximum: Infinity }
  for (const each of conditions as ReadonlyArray<unknown>) {
    if (Array.isArray(each)) {
      const [kind, first, second, ...more]: ReadonlyArray<unknown> = each
      const operator = typeof kind === "string" ? kind.toLowerCase() : ""
      if (operator === "content-length-range" && more.length === 0) {
        const [minimum, maximum] = [Number(first), Number(second)]
        if (!(minimum >= 0 && maximum >= minimum)) throw invalid("Invalid content-length-range.")
        range = { minimum, maximum }
      } else if ((operator === "eq" || operator === "starts-with") && more.length === 0) {
        if (typeof first !== "string" || !first.startsWith("$") || typeof second !== "string") {
          throw invalid("Invalid Condition.")
        }
        parsed.push({ kind: operator, field: first.slice(1).toLowerCase(), value: second })
      } else throw invalid("Invalid Condition.")
    } else {
      const entries = Object.entries((each ?? {}) as object)
      if (entries.length === 0) throw invalid("Invalid Condition.")
      for (const [field, value] of entries) {
        parsed.push({ kind: "eq", field: field.toLowerCase(), value: String(value) })
      }
    }
  }
  return { expiration: until, conditions: parsed, ...range }
}

/** Fields that need no condition. */
const exempt = new Set(["policy", "file", "x-amz-signature", "awsaccesskeyid", "signature"])

/** Throws AccessDenied unless the form meets the policy. */
export const checkPostPolicy = (
  { conditions, expiration }: PostPolicy,
  fields: ReadonlyMap<string, string>,
  now: number
) => {
  const denied = (why: string) => s3Error("AccessDenied", `Invalid according to Policy: ${why}`)
  if (now > expiration) throw denied("Policy expired.")
  for (const { field, kind, value } of conditions) {
    const given = fields.get(field) ?? ""
    if (kind === "eq" ? given !== value : !given.startsWith(value)) {
      throw denied(`Policy Condition failed: ["${kind}", "$${field}", "${value}"]`)
    }
  }
  const covered = new Set(conditions.map(({ field }) => field))
  const extra = [...fields.keys()].filter(
    (name) => !covered.has(name) && !exempt.has(name) && !name.startsWith("x-ignore-")
  )
  if (extra.length > 0) throw denied(`Extra input fields: ${extra.join(", ")}`)
}
