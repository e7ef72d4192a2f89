// Numbers and their text as Go has them, because flagd is written in Go: rules see the difference in `cat`, `==`,
// `<`, `+` and in the indexes of `var`.

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const hexadecimal = /^([+-]?)0x([\da-f]*)(?:\.([\da-f]*))?p([+-]?\d+)$/i
const infinite = /^[+-]?inf(?:inity)?$/i
const looseUnderscore = /(?<!\d)_|_(?!\d)/
const looseHexUnderscore = /(?<![\da-f]|^[+-]?0x)_|_(?![\da-f])/i

/** Digits that decide a double, with enough to spare; one more stands for all that follow. */
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
  // In two steps, since 2 ** power alone may be too small where the product is not.
  const value = power < -1000 ? mantissa * 2 ** -1000 * 2 ** (power + 1000) : mantissa * 2 ** power
  return sign === "-" ? -value : value
}

/** The number a text is, in full; undefined when it is none. Too large ones are infinite. */
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

/** The number of a text for `==` and `<`: blank is 0, and neither too large nor no number is equal to anything. */
export const comparedNumber = (text: string): number => {
  if (blank.test(text)) return 0
  const value = parsedNumber(text)
  if (value === undefined) return Number.NaN
  return Number.isFinite(value) || infinite.test(text) ? value : Number.NaN
}

/** All digits and no exponent, as `cat` and the paths of `var` have numbers. */
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

/** The integer a number becomes: cut off, and the smallest one for what 64 bits can't hold. */
export const wholeNumber = (value: number): number => {
  const smallest = -(2 ** 63)
  return value >= smallest && value < 2 ** 63 ? Math.trunc(value) : smallest
}

// Unicode's White_Space, which is not quite what String.trim takes off.
const space = "\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
const blank = new RegExp(`^[${space}]*$`)
const leading = new RegExp(`^[${space}]+`)
const spaces = new RegExp(`^[${space}]$`)

/** Without white space around it. */
export const trimmedText = (text: string): string => {
  let end = text.length
  while (end > 0 && spaces.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end).replace(leading, "")
}
