// Numbers and their text as in Go, the language of flagd. Rules see the differences to JavaScript in `cat`, `==`, `<`, `+`
// and in the indexes of `var`.

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const hexadecimal = /^([+-]?)0x([\da-f]*)(?:\.([\da-f]*))?p([+-]?\d+)$/i
const infinite = /^[+-]?inf(?:inity)?$/i
const looseUnderscore = /(?<!\d)_|_(?!\d)/
const looseHexUnderscore = /(?<![\da-f]|^[+-]?0x)_|_(?![\da-f])/i

/** More hexadecimal digits than a double depends on. One more digit represents all that follow. */
const significantHexDigits = 32

const hexNumber = (text: string): number | undefined => {
  const match = hexadecimal.exec(text)
  const [, sign, whole = "", fraction = "", exponent] = match ?? []
  if (match === null || whole.length + fraction.length === 0) return undefined
  const digits = (whole + fraction).replace(/^0+/, "")
  if (digits === "") return sign === "-" ? -0 : 0
  const rest = digits.slice(significantHexDigits)
  const kept = rest === "" ? digits : `${digits.slice(0, significantHexDigits)}${/[^0]/.test(rest) ? 1 : 0}`
  const dropped = rest === "" ? 0 : rest.length - 1
  const power = Number(exponent) - 4 * fraction.length + 4 * dropped
  const mantissa = Number(BigInt(`0x${kept}`))
  // The product has two steps, because 2 ** power alone may underflow where the product does not.
  const value = power < -1000 ? mantissa * 2 ** -1000 * 2 ** (power + 1000) : mantissa * 2 ** power
  return sign === "-" ? -value : value
}

/** The number in a string; undefined if it is not a number as a whole. Numbers that are too large are infinite. */
export const parsedNumber = (text: string): number | undefined => {
  if (decimal.test(text)) return Number(text)
  if (text.length > 4 && /^[+-]?0x/i.test(text)) {
    if (text.includes("_") && looseHexUnderscore.test(text)) return undefined
    return hexNumber(text.replaceAll("_", ""))
  }
  if (infinite.test(text)) return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  if (/^nan$/i.test(text)) return Number.NaN
  if (!text.includes("_") || looseUnderscore.test(text)) return undefined
  const digits = text.replaceAll("_", "")
  return decimal.test(digits) ? Number(digits) : undefined
}

/** The number of a string for `==` and `<`: 0 if blank; NaN, which equals nothing, if invalid or too large. */
export const comparedNumber = (text: string): number => {
  if (blank.test(text)) return 0
  const value = parsedNumber(text)
  if (value === undefined) return Number.NaN
  return Number.isFinite(value) || infinite.test(text) ? value : Number.NaN
}

/** A number with all digits and no exponent, for `cat` and the paths of `var`. */
export const plainNumber = (value: number): string => {
  if (value === Number.POSITIVE_INFINITY) return "+Inf"
  if (value === Number.NEGATIVE_INFINITY) return "-Inf"
  if (Object.is(value, -0)) return "-0"
  const text = String(value)
  const [mantissa = "", exponent] = text.split("e")
  if (exponent === undefined) return text
  const sign = mantissa.startsWith("-") ? "-" : ""
  const [whole = "", fraction = ""] = mantissa.slice(sign.length).split(".")
  const power = Number(exponent)
  if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${whole}${fraction}`
  return `${sign}${whole}${fraction}${"0".repeat(power - fraction.length)}`
}

/** Converts to a 64-bit integer: truncated; the smallest one if the number does not fit. */
export const wholeNumber = (value: number): number => {
  const smallest = -(2 ** 63)
  return value >= smallest && value < 2 ** 63 ? Math.trunc(value) : smallest
}

// Unicode's White_Space, which differs from what String.trim removes.
const space = "\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
const blank = new RegExp(`^[${space}]*$`)
const leading = new RegExp(`^[${space}]+`)
const spaces = new RegExp(`^[${space}]$`)

/** Removes surrounding white space. */
export const trimmedText = (text: string): string => {
  let end = text.length
  while (end > 0 && spaces.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end).replace(leading, "")
}
