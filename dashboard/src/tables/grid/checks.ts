import type { Column } from "../../catalogue/queries.ts"
import { parseFaithful } from "../../wire/exact.ts"
import { isJson } from "./columns.ts"
import { isMoment, withZone } from "./moments.ts"

/*
 * What PostgreSQL surely refuses as a value of a type, so that it is said in the cell. Whatever is not certain is its own to
 * judge: each check knows the forms of its type, and lets those pass that it does not know.
 */

const whole = /^[+-]?(?:\d+(?:_\d+)*|0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+)$/
const decimal = /^[+-]?(?:(?:\d+(?:_\d+)*)(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+(?:_\d+)*)?$/
const special = /^(?:nan|[+-]?inf(?:inity)?)$/i

const integer = (bits: number, name: string) => (text: string) => {
  if (!whole.test(text)) return `Not a whole number: ${name} has digits only`
  const digits = text.replace(/^[+-]/, "").replaceAll("_", "")
  const value = BigInt(/^0\d/.test(digits) ? digits.replace(/^0+(?=\d)/, "") : digits)
  const most = 2n ** BigInt(bits - 1)
  const fits = text.startsWith("-") ? value <= most : value < most
  return fits ? undefined : `Out of range: ${name} is from -${most} to ${most - 1n}`
}

const number = (text: string) =>
  decimal.test(text) || whole.test(text) || special.test(text) ? undefined : "Not a number"

const words = /^(?:now|today|tomorrow|yesterday|epoch|allballs|[+-]?infinity|-?inf)$/i
const isoDay = /^(\d{4,6})-(\d{1,2})-(\d{1,2})(?!\d)/
const isoTime = /(?:^|[T\s])(\d{1,2}):(\d{2})(?::(\d{2}))?(?![\d:])/i

const daysIn = (year: number, month: number, bc: boolean) => {
  // 1 BC is the year 0, which is a leap year.
  const astronomical = bc ? 1 - year : year
  const leap = astronomical % 4 === 0 && (astronomical % 100 !== 0 || astronomical % 400 === 0)
  return month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31
}

const day = (text: string) => {
  const [given, year = "", month = "", date = ""] = isoDay.exec(text) ?? []
  if (given === undefined) return /\d/.test(text) || words.test(text.trim()) ? undefined : "Not a date"
  const bc = /\bbc\b/i.test(text)
  const [y, m, d] = [Number(year), Number(month), Number(date)]
  if (m < 1 || m > 12) return `There is no month ${month}`
  return d < 1 || d > daysIn(y, m, bc) ? `There is no ${given}${bc ? " BC" : ""}` : undefined
}

const hour = (text: string) => {
  const [, hours, minutes = "0", seconds = "0"] = isoTime.exec(text) ?? []
  if (hours === undefined) return undefined
  if (Number(hours) > 24 || Number(minutes) > 59 || Number(seconds) > 60) return "There is no such time of day"
  return undefined
}
const moment = (text: string) => day(text) ?? hour(text)
const time = (text: string) =>
  hour(text) ?? (/\d/.test(text) || words.test(text.trim()) ? undefined : "Not a time of day")

const address = (text: string) => {
  const [, a, b, c, d, bits = "0"] = /^(\d+)\.(\d+)\.(\d+)\.(\d+)(?:\/(\d+))?$/.exec(text.trim()) ?? []
  if (a !== undefined) {
    const isRight = [a, b, c, d].every((part) => Number(part) <= 255) && Number(bits) <= 32
    return isRight ? undefined : "Not an IP address"
  }
  return /^\s*[0-9a-fx:./]+\s*$/i.test(text) ? undefined : "Not an IP address"
}

const uuid = (text: string) =>
  /^(?:\{(?:[0-9a-f]{4}-?){7}[0-9a-f]{4}\}|(?:[0-9a-f]{4}-?){7}[0-9a-f]{4})$/i.test(text) ? undefined : "Not a UUID"

const bytes = (text: string) =>
  /^\\x/i.test(text) && !/^\\x(?:\s*[0-9a-f]{2})*\s*$/i.test(text)
    ? "Not pairs of hexadecimal digits after \\x"
    : undefined

const trimmed = (check: (text: string) => string | undefined) => (text: string) => check(text.trim())

const checks: ReadonlyArray<readonly [RegExp, (text: string) => string | undefined]> = [
  [/^smallint$/, trimmed(integer(16, "smallint"))],
  [/^integer$/, trimmed(integer(32, "integer"))],
  [/^bigint$/, trimmed(integer(64, "bigint"))],
  [/^(?:numeric|decimal|real|double precision)/, trimmed(number)],
  [/^date$/, day],
  [/^timestamp/, moment],
  [/^time(?!stamp)/, time],
  [/^interval/, (text) => (/\d/.test(text) || words.test(text.trim()) ? undefined : "Not an interval")],
  [/^uuid$/, uuid],
  [/^(?:inet|cidr)$/, address],
  [/^bytea$/, bytes],
  [
    /^boolean$/,
    trimmed((text) =>
      /^(?:t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|y(?:es?)?|no?|on|off?|[01])$/i.test(text)
        ? undefined
        : "Not true or false"
    )
  ]
]

const limited = /^character(?: varying)?\((\d+)\)$/

/** Why a text can't be a value of a type; undefined if it may be one. */
export const problemOf = (type: string, text: string): string | undefined => {
  const most = limited.exec(type)?.[1]
  if (most !== undefined) {
    // PostgreSQL cuts spaces, but nothing else.
    const length = Array.from(text.replace(/ +$/, "")).length
    return length > Number(most) ? `Too long: ${length} characters, of ${most}` : undefined
  }
  return checks.find(([pattern]) => pattern.test(type) && !type.endsWith("[]"))?.[1](text)
}

type Written = { readonly value: unknown } | { readonly problem: string }

const isText = (type: string) => /^(?:text|character|citext|name)/.test(type)

const parsed = (text: string): Written => {
  try {
    return { value: parseFaithful(text) }
  } catch (error) {
    return { problem: `Not valid JSON: ${(error as Error).message}` }
  }
}

/** The first element that can't be one of its type. */
const elementProblem = (type: string, value: unknown): string | undefined => {
  if (Array.isArray(value)) {
    for (const one of value) {
      const problem = elementProblem(type, one)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  if (value === null || isJson(type) || (typeof value === "object" && !JSON.stringify(value).match(/^[-\d]/)))
    return undefined
  const text = typeof value === "object" ? JSON.stringify(value) : String(value)
  const problem = problemOf(type, text)
  return problem === undefined ? undefined : `${text}: ${problem}`
}

/** JSON, as arrays are shown, or the array's text in PostgreSQL, which may have bounds: `{a,b}`, `[0:1]={a,b}`. */
const writtenArray = (text: string, type: string): Written => {
  const begin = text.trim()
  if (begin.startsWith("{") || /^\[[+-]?\d+:/.test(begin)) return { value: text }
  if (!begin.startsWith("[")) return { problem: 'Not an array: write ["a", "b"]' }
  const result = parsed(text)
  if ("problem" in result) return result
  const problem = elementProblem(type.replace(/(?:\[\])+$/, ""), result.value)
  return problem === undefined ? result : { problem }
}

/**
 * What was written, as a value of the column, or why it can't be one. PostgreSQL reads all other types from their text:
 * numbers keep their digits. `before`: the value that is edited, by which a composite type is known.
 */
export const written = (text: string, column: Pick<Column, "nullable" | "type">, before?: unknown): Written => {
  const { nullable, type } = column
  // An empty text is one of few types besides: where it was, it stays.
  if (text === "" && !isText(type) && before !== "")
    return nullable ? { value: null } : { problem: "This column does not accept NULL" }
  if (isJson(type))
    return text.trim() === ""
      ? nullable
        ? { value: null }
        : { problem: "This column does not accept NULL" }
      : parsed(text)
  if (type.endsWith("[]")) return writtenArray(text, type)
  // A composite type, or a domain over JSON or an array.
  if (typeof before === "object" && before !== null && /^\s*[[{]/.test(text)) return parsed(text)
  const problem = problemOf(type, text)
  return problem === undefined ? { value: isMoment(type) ? withZone(text) : text } : { problem }
}
