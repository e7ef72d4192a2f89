import * as fc from "fast-check"

/** A flag as the management API accepts it. */
export interface FlagCase {
  readonly type: "boolean" | "string" | "number" | "object"
  readonly variants: Readonly<Record<string, unknown>>
  readonly defaultVariant: string
  readonly state: "ENABLED" | "DISABLED"
  readonly targeting: object
}

/** Rules of the segments in the cases. */
export const segmentCases: Readonly<Record<string, object>> = {
  beta: { ends_with: [{ var: "email" }, "@beta.example"] },
  "beta-abroad": { and: [{ $ref: "beta" }, { "!": [{ in: [{ var: "country" }, ["de", "fr"]] }] }] }
}

const plans = ["free", "pro", "team"]
const countries = ["de", "fr", "jp", "us"]
const versions = ["1.0.0", "1.9.3", "2.0.0-rc.1", "2.0.0", "10.2.0"]

/**
 * Contexts for which every client computes the same result. Excluded, because the engine of the client differs from flagd's:
 * targeting keys outside ASCII (it hashes UTF-16), numeric ones (it hashes their text), and missing ones that a rule
 * concatenates (`cat` writes "null").
 */
export const contextCase = fc.record({
  targetingKey: fc.stringMatching(/^[a-zA-Z0-9_.@-]{1,24}$/),
  plan: fc.constantFrom(...plans),
  country: fc.constantFrom(...countries),
  email: fc
    .tuple(fc.stringMatching(/^[a-z]{1,8}$/), fc.constantFrom("beta", "mail"))
    .map(([name, at]) => `${name}@${at}.example`),
  appVersion: fc.constantFrom(...versions),
  staff: fc.boolean()
})
export type ContextCase = typeof contextCase extends fc.Arbitrary<infer A> ? A : never

/**
 * Conditions on strings and booleans only: the engine of the client fails where flagd compares strings with numbers, and
 * treats null as equal to 0.
 */
const condition = fc.letrec<{ readonly leaf: object; readonly node: object }>((tie) => ({
  leaf: fc.oneof(
    fc.constantFrom(...plans, "none").map((plan) => ({ "==": [{ var: "plan" }, plan] })),
    fc.subarray(countries).map((some) => ({ in: [{ var: "country" }, some] })),
    fc.constantFrom("a", "be", "").map((prefix) => ({ starts_with: [{ var: "email" }, prefix] })),
    fc
      .tuple(fc.constantFrom("=", "!=", "<", "<=", ">", ">=", "^", "~"), fc.constantFrom(...versions))
      .map(([operator, version]) => ({ sem_ver: [{ var: "appVersion" }, operator, version] })),
    fc.constant({ "==": [{ var: "staff" }, true] }),
    fc.constant({ in: ["beta", { var: "email" }] }),
    fc.constantFrom("beta", "beta-abroad").map((segment) => ({ $ref: segment }))
  ),
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("leaf"),
    fc.array(tie("node"), { minLength: 1, maxLength: 3 }).map((all) => ({ and: all })),
    fc.array(tie("node"), { minLength: 1, maxLength: 3 }).map((all) => ({ or: all })),
    tie("node").map((one) => ({ "!": [one] }))
  )
})).node

const cut = fc.integer({ min: 1, max: 99 })

/** The result of a branch: a variant, none, or one by weight. The bucketing key is never null, where the client's engine fails. */
const outcome = (variants: ReadonlyArray<string>) => {
  const one = fc.constantFrom(...variants)
  const split = fc.tuple(one, one, cut)
  return fc.oneof(
    one,
    fc.constant(null),
    split.map(([a, b, at]) => ({
      fractional: [
        [a, at],
        [b, 100 - at]
      ]
    })),
    split.map(([a, b, at]) => ({
      fractional: [{ cat: [{ var: "$flagd.flagKey" }, { var: "targetingKey" }] }, [a, at], [b, 100 - at]]
    })),
    split.map(([a, b, at]) => ({ fractional: [{ var: "email" }, [a, at], [b, 100 - at]] }))
  )
}

const values = {
  boolean: fc.boolean(),
  string: fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom("", "é🎉", '<&>"\\')).filter(isStorable),
  number: fc
    .oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), fc.constant(0))
    .map((n) => n + 0),
  object: fc.dictionary(
    fc.stringMatching(/^[a-z]{1,6}$/),
    fc.oneof(fc.boolean(), fc.integer(), fc.constant(null), fc.constant([1, { a: ["b"] }]), fc.constant("é")),
    { maxKeys: 4 }
  )
} as const

function isStorable(text: string) {
  return text.isWellFormed() && !text.includes("\0")
}

export const flagCase: fc.Arbitrary<FlagCase> = fc
  .tuple(
    fc.constantFrom("boolean", "string", "number", "object"),
    fc.uniqueArray(fc.constantFrom("on", "off", "a.1", "B_2", "c-3"), { minLength: 2, maxLength: 4 })
  )
  .chain(([type, names]) => {
    const branches = fc.array(fc.tuple(condition, outcome(names)), { minLength: 1, maxLength: 3 })
    return fc.record({
      type: fc.constant(type),
      variants: fc
        .array(values[type] as fc.Arbitrary<unknown>, { minLength: names.length, maxLength: names.length })
        .map((all) => Object.fromEntries(names.map((name, n) => [name, all[n]]))),
      defaultVariant: fc.constantFrom(...names),
      state: fc.oneof(
        { weight: 5, arbitrary: fc.constant("ENABLED" as const) },
        { weight: 1, arbitrary: fc.constant("DISABLED" as const) }
      ),
      targeting: fc.oneof(
        { weight: 1, arbitrary: fc.constant({}) },
        {
          weight: 4,
          arbitrary: fc.tuple(branches, outcome(names)).map(([all, last]) => ({ if: [...all.flat(), last] }))
        }
      )
    })
  })
