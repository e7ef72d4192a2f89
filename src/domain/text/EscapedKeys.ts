type Reviver = (this: unknown, key: string, value: unknown, context?: unknown) => unknown
type Parse = (text: string, reviver?: Reviver) => unknown

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a]
const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** Replaces the names of an object's fields that have an escape; gives undefined if there are none. */
const replaceEscapedKeys = (text: string, replace: (key: string) => string): string | undefined => {
  let [written, at] = ["", 0]
  let copied = 0
  // The first escape at or behind the string that is looked at.
  let escape = text.indexOf("\\")
  while (escape !== -1) {
    const begin = text.indexOf('"', at)
    if (begin === -1) break
    let end = begin
    for (let escaped = true; escaped;) {
      end = text.indexOf('"', end + 1)
      if (end === -1) return copied === 0 ? undefined : written + text.slice(copied)
      escaped = false
      for (let before = end - 1; text.charCodeAt(before) === backslash && before > begin; before--) escaped = !escaped
    }
    at = end + 1
    if (escape > end) continue
    escape = text.indexOf("\\", at)
    let next = at
    while (isSpace(text.charCodeAt(next))) next++
    if (text.charCodeAt(next) !== colon) continue
    written += text.slice(copied, begin) + replace(text.slice(begin, at))
    copied = at
  }
  return copied === 0 ? undefined : written + text.slice(copied)
}

const needsEscape = (key: string) => {
  for (let at = 0; at < key.length; at++) {
    const code = key.charCodeAt(at)
    if (code === quote || code === backslash || code < 0x20) return true
  }
  return false
}

/**
 * A `JSON.parse` that reads escaped names of fields as they are. V8's own (of Node.js 22 to 26 at least, nodejs/node issue
 * 63785) compares the source of a name with the names of objects that were parsed before: once anybody's JSON had a name
 * with a backslash, `"\u00e4"`, `"\n"` or `"\""` of others may become that name. Text without an escaped name is parsed by
 * V8 alone.
 */
export const parseWithEscapedKeys =
  (native: Parse): Parse =>
  (given, reviver) => {
    const text = typeof given === "string" ? given : String(given)
    if (!text.includes("\\")) return native(text, reviver)
    const names = new Map<string, string>()
    const numbers = new Map<string, string>()
    let mark = "\uE000svc"
    const replaced = () =>
      replaceEscapedKeys(text, (source) => {
        const key = native(source) as string
        // Most are letters that a client writes as ASCII.
        if (!needsEscape(key)) return `"${key}"`
        const known = numbers.get(key) ?? `${mark}${numbers.size}`
        numbers.set(key, known)
        names.set(known, key)
        return `"${known}"`
      })
    while (text.includes(mark)) mark += "-"
    let safe: string | undefined
    try {
      safe = replaced()
    } catch {
      // A name is no JSON string, for which V8 has the error.
      return native(text, reviver)
    }
    if (safe === undefined) return native(text, reviver)
    if (names.size === 0) return native(safe, reviver)
    const rename = (value: object) => {
      const entries = Object.entries(value)
      if (!entries.some(([key]) => names.has(key))) return value
      return Object.fromEntries(entries.map(([key, field]) => [names.get(key) ?? key, field]))
    }
    return native(safe, function (this: unknown, key, value, context) {
      const renamed = typeof value === "object" && value !== null && !Array.isArray(value) ? rename(value) : value
      return reviver === undefined ? renamed : reviver.call(this, names.get(key) ?? key, renamed, context)
    })
  }

const guarded = new WeakSet<object>()

/** Replaces `JSON.parse` of this thread, which libraries call, too. */
export const guardJsonParse = (): void => {
  if (guarded.has(JSON.parse)) return
  JSON.parse = parseWithEscapedKeys(JSON.parse as Parse) as typeof JSON.parse
  guarded.add(JSON.parse)
}
