/** What a comparison compares with. */
export type Scalar = string | number | boolean

/** Operators between an attribute and a value, in the order of the list that people choose from. */
export const comparisons = ["==", "!=", ">", ">=", "<", "<=", "starts_with", "ends_with"] as const
export type Comparison = (typeof comparisons)[number]
export const versionOperators = ["=", "!=", "<", "<=", ">", ">=", "^", "~"] as const
type VersionOperator = (typeof versionOperators)[number]

export type Test =
  | { readonly tag: "compare"; readonly attribute: string; readonly operator: Comparison; readonly value: Scalar }
  | { readonly tag: "contains"; readonly attribute: string; readonly not: boolean; readonly text: string }
  | { readonly tag: "oneOf"; readonly attribute: string; readonly not: boolean; readonly values: ReadonlyArray<Scalar> }
  | {
      readonly tag: "version"
      readonly attribute: string
      readonly operator: VersionOperator
      readonly version: string
    }
  | { readonly tag: "given"; readonly attribute: string; readonly not: boolean }
  | { readonly tag: "segment"; readonly key: string; readonly not: boolean }

export interface Group {
  readonly tag: "and" | "or"
  readonly all: ReadonlyArray<Condition>
}
export type Condition = Test | Group

export type Weights = ReadonlyArray<readonly [variant: string, weight: number]>

export type Outcome =
  | { readonly tag: "variant"; readonly name: string }
  | { readonly tag: "default" }
  /** By what users are divided; undefined: by their targetingKey. */
  | { readonly tag: "split"; readonly by: string | undefined; readonly weights: Weights }

/** The first branch whose condition is true decides, else the rest. */
export interface Rule {
  readonly branches: ReadonlyArray<{ readonly when: Condition; readonly result: Outcome }>
  readonly otherwise: Outcome
}

type Json = unknown
const variable = (name: string): Json => ({ var: name })
const negated = (not: boolean, logic: Json): Json => (not ? { "!": logic } : logic)

export const conditionJson = (condition: Condition): Json => {
  switch (condition.tag) {
    case "compare":
      return { [condition.operator]: [variable(condition.attribute), condition.value] }
    case "contains":
      return negated(condition.not, { in: [condition.text, variable(condition.attribute)] })
    case "oneOf":
      return negated(condition.not, { in: [variable(condition.attribute), condition.values] })
    case "version":
      return { sem_ver: [variable(condition.attribute), condition.operator, condition.version] }
    case "given":
      return { [condition.not ? "!" : "!!"]: variable(condition.attribute) }
    case "segment":
      return negated(condition.not, { $ref: condition.key })
    default:
      return { [condition.tag]: condition.all.map(conditionJson) }
  }
}

const outcomeJson = (outcome: Outcome): Json => {
  switch (outcome.tag) {
    case "variant":
      return outcome.name
    case "default":
      return null
    default:
      return { fractional: [...(outcome.by === undefined ? [] : [variable(outcome.by)]), ...outcome.weights] }
  }
}

/** The rule as JsonLogic. */
export const ruleJson = ({ branches, otherwise }: Rule): Readonly<Record<string, Json>> => {
  const rest = outcomeJson(otherwise)
  if (branches.length > 0) {
    const pairs = branches.flatMap(({ result, when }) => [conditionJson(when), outcomeJson(result)])
    return { if: rest === null ? pairs : [...pairs, rest] }
  }
  return otherwise.tag === "split" ? (rest as Readonly<Record<string, Json>>) : {}
}

const isScalar = (json: Json): json is Scalar => ["string", "number", "boolean"].includes(typeof json)
/** The one field of an object. */
const only = (json: Json): readonly [name: string, value: Json] | undefined => {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined
  const [first, second] = Object.entries(json)
  return second === undefined ? first : undefined
}
const list = (json: Json): ReadonlyArray<Json> => (Array.isArray(json) ? json : [])
const attributeIn = (json: Json): string | undefined => {
  const [name, value] = only(json) ?? []
  return name === "var" && typeof value === "string" ? value : undefined
}

const readIn = (operands: ReadonlyArray<Json>, not: boolean): Test | undefined => {
  const [first, second] = operands
  const attribute = attributeIn(first)
  if (attribute !== undefined) {
    const values = list(second)
    return Array.isArray(second) && values.every(isScalar) ? { tag: "oneOf", attribute, not, values } : undefined
  }
  const within = attributeIn(second)
  return typeof first === "string" && within !== undefined
    ? { tag: "contains", attribute: within, not, text: first }
    : undefined
}

const readTest = (json: Json, not: boolean): Test | undefined => {
  const [operator, operand] = only(json) ?? []
  if (operator === "$ref" && typeof operand === "string") return { tag: "segment", key: operand, not }
  if (operator === "in") return readIn(list(operand), not)
  if (operator === "var") {
    const attribute = attributeIn(json)
    return not && attribute !== undefined ? { tag: "given", attribute, not } : undefined
  }
  if (not) return undefined
  if (operator === "!!") {
    const attribute = attributeIn(operand)
    return attribute === undefined ? undefined : { tag: "given", attribute, not }
  }
  const [first, second, third] = list(operand)
  const attribute = attributeIn(first)
  if (attribute === undefined) return undefined
  if (operator === "sem_ver") {
    const found = versionOperators.find((one) => one === second)
    return found === undefined || typeof third !== "string"
      ? undefined
      : { tag: "version", attribute, operator: found, version: third }
  }
  const comparison = comparisons.find((one) => one === operator)
  return comparison === undefined || !isScalar(second)
    ? undefined
    : { tag: "compare", attribute, operator: comparison, value: second }
}

/** Groups in groups that are shown. */
const mostLevels = 3

const conditionIn = (json: Json, level = 0): Condition | undefined => {
  const [operator, operand] = only(json) ?? []
  if (operator === "!") return readTest(operand, true)
  if (operator !== "and" && operator !== "or") return readTest(json, false)
  const all = level < mostLevels ? list(operand).map((one) => conditionIn(one, level + 1)) : []
  const found = all.filter((one) => one !== undefined)
  return found.length === 0 || found.length < all.length ? undefined : { tag: operator, all: found }
}

const outcomeIn = (json: Json): Outcome | undefined => {
  if (json === null) return { tag: "default" }
  if (typeof json === "string") return { tag: "variant", name: json }
  const [operator, operand] = only(json) ?? []
  if (operator !== "fractional") return undefined
  const by = attributeIn(list(operand)[0])
  const weights = list(operand)
    .slice(by === undefined ? 0 : 1)
    .map((pair): Weights[number] | undefined => {
      const [variant, weight] = list(pair)
      return typeof variant === "string" && Number.isInteger(weight) ? [variant, weight as number] : undefined
    })
    .filter((pair) => pair !== undefined)
  return weights.length === 0 ? undefined : { tag: "split", by, weights }
}

const ruleIn = (json: Json): Rule | undefined => {
  const [operator, operand] = only(json) ?? []
  if (operator !== "if") {
    const otherwise: Outcome | undefined = operator === undefined ? { tag: "default" } : outcomeIn(json)
    return otherwise === undefined ? undefined : { branches: [], otherwise }
  }
  const parts = list(operand)
  const branches: Array<Rule["branches"][number]> = []
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const when = conditionIn(parts[at])
    const result = outcomeIn(parts[at + 1])
    if (when === undefined || result === undefined) return undefined
    branches.push({ when, result })
  }
  const otherwise = parts.length % 2 === 0 ? ({ tag: "default" } as const) : outcomeIn(parts.at(-1))
  return otherwise === undefined ? undefined : { branches, otherwise }
}

const same = (one: Json, other: Json) => JSON.stringify(one) === JSON.stringify(other)

/**
 * The rule that is exactly this JSON; undefined if no rule is exactly that, so that nothing is lost by showing it: other spellings
 * and operators stay JSON.
 */
export const readRule = (json: Json): Rule | undefined => {
  const rule = ruleIn(json)
  return rule !== undefined && same(ruleJson(rule), json) ? rule : undefined
}

/** The same for the rules of a segment. `{}`, which no user meets, is no condition: "none". */
export const readCondition = (json: Json): Condition | "none" | undefined => {
  if (same(json, {})) return "none"
  const condition = conditionIn(json)
  return condition !== undefined && same(conditionJson(condition), json) ? condition : undefined
}
