import { type Comparison, comparisons, type Scalar, type Test } from "./rule.ts"

/** What people choose from, with the test that it makes of what is there. */
export interface Choice {
  readonly key: string
  readonly words: string
}

const comparisonWords: Readonly<Record<Comparison, string>> = {
  "==": "is",
  "!=": "is not",
  ">": "is greater than",
  ">=": "is at least",
  "<": "is less than",
  "<=": "is at most",
  starts_with: "starts with",
  ends_with: "ends with"
}

export const choices: ReadonlyArray<Choice> = [
  ...comparisons.map((key) => ({ key, words: comparisonWords[key] })),
  { key: "contains", words: "contains" },
  { key: "!contains", words: "does not contain" },
  { key: "oneOf", words: "is one of" },
  { key: "!oneOf", words: "is none of" },
  { key: "version", words: "is a version" },
  { key: "given", words: "is given" },
  { key: "!given", words: "is not given" },
  { key: "segment", words: "user is in segment" },
  { key: "!segment", words: "user is not in segment" }
]

export const keyOf = (test: Test): string =>
  test.tag === "compare" ? test.operator : test.tag === "version" ? "version" : `${test.not ? "!" : ""}${test.tag}`

export const attributeOf = (test: Test) => (test.tag === "segment" ? "" : test.attribute)

const valueOf = (test: Test): Scalar => {
  switch (test.tag) {
    case "compare":
      return test.value
    case "contains":
      return test.text
    case "oneOf":
      return test.values[0] ?? ""
    case "version":
      return test.version
    default:
      return ""
  }
}

/** Another kind of test, with what can be kept of the old one. */
export const testOf = (key: string, old: Test, segment: string): Test => {
  const attribute = attributeOf(old)
  const value = valueOf(old)
  const not = key.startsWith("!")
  switch (not ? key.slice(1) : key) {
    case "contains":
      return { tag: "contains", attribute, not, text: String(value) }
    case "oneOf":
      return { tag: "oneOf", attribute, not, values: old.tag === "oneOf" ? old.values : [value] }
    case "version":
      return { tag: "version", attribute, operator: ">=", version: String(value) }
    case "given":
      return { tag: "given", attribute, not }
    case "segment":
      return { tag: "segment", key: old.tag === "segment" ? old.key : segment, not }
    default: {
      const operator = comparisons.find((one) => one === key) ?? "=="
      return { tag: "compare", attribute, operator, value: operator.endsWith("_with") ? String(value) : value }
    }
  }
}

export const newTest: Test = { tag: "compare", attribute: "email", operator: "ends_with", value: "@example.com" }
