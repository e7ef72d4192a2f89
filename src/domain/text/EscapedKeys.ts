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
    const places = new Map<string, string>()
    // Not known to those who write the text, so that no name of theirs begins with it.
    const mark = `\uE000${Math.random()}`
    const placeOf = (key: string) => {
      const place = places.get(key) ?? `${mark} ${places.size}`
      places.set(key, place)
      names.set(place, key)
      return place
    }
    let safe: string | undefined
    try {
      safe = replaceEscapedKeys(text, (source) => {
        const key = native(source) as string
        // Most are letters that a client writes as ASCII.
        return `"${needsEscape(key) ? placeOf(key) : key}"`
      })
      if (safe === undefined) return native(text, reviver)
      if (names.size === 0) return native(safe, reviver)
      if (reviver === undefined) return renamedWithin(native(safe), names)
      return native(safe, function (this: unknown, key, value, context) {
        const renamed =
          typeof value === "object" && value !== null && !Array.isArray(value) ? rename(value, names) : value
        return reviver.call(this, names.get(key) ?? key, renamed, context)
      })
    } catch (cause) {
      // V8's error names a place in the text that was given.
      if (cause instanceof SyntaxError) native(text)
      throw cause
    }
  }

const rename = (value: object, names: ReadonlyMap<string, string>): object =>
  Object.keys(value).some((key) => names.has(key))
    ? Object.fromEntries(Object.entries(value).map(([key, field]) => [names.get(key) ?? key, field]))
    : value

/** Renames the fields of all objects in a value, which may be nested deeper than calls can be. */
const renamedWithin = (value: unknown, names: ReadonlyMap<string, string>): unknown => {
  const whole: Record<string, unknown> = { value }
  const holders: Array<object> = [whole]
  for (let holder = holders.pop(); holder !== undefined; holder = holders.pop()) {
    for (const [key, field] of Object.entries(holder)) {
      if (typeof field !== "object" || field === null) continue
      const renamed = Array.isArray(field) ? field : rename(field as object, names)
      // An assignment to __proto__ would not make a field.
      if (renamed !== field) Object.defineProperty(holder, key, { value: renamed, ...plain })
      holders.push(renamed)
    }
  }
  return whole["value"]
}

const plain = { configurable: true, enumerable: true, writable: true }

const guarded = new WeakSet<object>()

/** Replaces `JSON.parse` of this thread, which libraries call, too. */
export const guardJsonParse = (): void => {
  if (guarded.has(JSON.parse)) return
  JSON.parse = parseWithEscapedKeys(JSON.parse as Parse) as typeof JSON.parse
  guarded.add(JSON.parse)
}
