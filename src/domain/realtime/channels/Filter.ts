/** One condition on a column, as the client has written it. */
export interface ChannelCondition {
  readonly column: string
  readonly negated: boolean
  readonly operator: Operator
  /** One, or those of `in`. */
  readonly values: ReadonlyArray<string>
}

const operators = [
  "eq",
  "neq",
  "lt",
  "lte",
  "gt",
  "gte",
  "in",
  "like",
  "ilike",
  "match",
  "imatch",
  "is",
  "isdistinct"
] as const
export type Operator = (typeof operators)[number]

/** Most values of `in`, and conditions of one filter. */
const [maxValues, maxConditions] = [100, 20]
/** The longest pattern, and the longest text that one is compared with: matching takes time by their product. */
const maxPattern = 100
export const maxText = 4096
/** Parts of regular expressions whose matching, or compiling, may take exponential time. */
const costly = /\\\d|\(\?|\{|\*{3}/

/** Splits at commas outside of quotes and parentheses; undefined if one of these is left open. */
const split = (text: string): ReadonlyArray<string> | undefined => {
  const parts: Array<string> = []
  let [depth, start, quoted] = [0, 0, false]
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (quoted && character === "\\") at++
    else if (character === '"') quoted = !quoted
    else if (quoted) continue
    else if (character === "(") depth++
    else if (character === ")") depth = Math.max(depth - 1, 0)
    else if (character === "," && depth === 0) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  parts.push(text.slice(start))
  return quoted || depth > 0 ? undefined : parts
}

const unquoted = (text: string) =>
  text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).replaceAll(/\\(.)/gs, "$1") : text

const conditionOf = (text: string): ChannelCondition | string => {
  const found = /^\s*([^=]+)=(not\.)?([a-z]+)\.(.*)$/s.exec(text)
  if (found === null) return `${text.slice(0, 100)} is not of the form column=operator.value`
  const [, column = "", not, name = "", value = ""] = found
  const operator = operators.find((one) => one === name)
  if (operator === undefined) return `the operator ${name.slice(0, 20)} is not supported`
  const base = { column: unquoted(column.trim()), negated: not !== undefined, operator }
  const isPattern = operator.endsWith("like") || operator.endsWith("match")
  if (isPattern && value.length > maxPattern) return `a pattern has at most ${maxPattern} characters`
  if (operator.endsWith("match") && costly.test(value)) {
    return "a regular expression has no references, no look-around and no {counts}"
  }
  if (operator !== "in") return { ...base, values: [unquoted(value)] }
  const list = value.startsWith("(") && value.endsWith(")") ? split(value.slice(1, -1)) : undefined
  if (list === undefined) return "the values of in must be in parentheses"
  if (list.length > maxValues) return `in takes at most ${maxValues} values`
  return { ...base, values: list.map((one) => unquoted(one.trim())) }
}

/** The conditions of a filter, all of which must hold; or a description of its fault. */
export const parseFilter = (text: string): ReadonlyArray<ChannelCondition> | string => {
  const parts = split(text)
  if (parts === undefined) return "a quote or parenthesis is not closed"
  if (parts.length > maxConditions) return `a filter has at most ${maxConditions} conditions`
  const conditions: Array<ChannelCondition> = []
  for (const part of parts) {
    const condition = conditionOf(part)
    if (typeof condition === "string") return condition
    conditions.push(condition)
  }
  return conditions
}

/** Whether a text matches a pattern of LIKE. Texts of more than 4096 characters match none. */
export const isLike = (text: string, pattern: string): boolean => {
  if (text.length > maxText) return false
  const tokens = [...pattern.matchAll(/\\(.)|[%_]|[^]/gsu)].map(([token, escaped]) => ({
    any: token === "%",
    one: token === "_",
    text: escaped ?? token
  }))
  const characters = [...text]
  let [at, next, resume, behind] = [0, 0, -1, 0]
  while (at < characters.length) {
    const token = tokens[next]
    if (token?.any === true) {
      resume = ++next
      behind = at
    } else if (token !== undefined && (token.one || token.text === characters[at])) {
      at++
      next++
    } else if (resume >= 0) {
      // The last % takes one character more.
      next = resume
      at = ++behind
    } else return false
  }
  return tokens.slice(next).every(({ any }) => any)
}
