/** The lexical parts of the row grammar: names, lists and quotes. Each reads once from left to right. */

const bareCharacter = /[\p{L}\p{M}\p{N}_$ ]/u
/** A quoted part: `"` and `\` inside it are written `\"` and `\\`. Undefined when it is not closed. */
const readQuoted = (text: string, start: number): { readonly value: string; readonly end: number } | undefined => {
  let value = ""
  for (let i = start + 1; i < text.length; i++) {
    const char = text[i]
    if (char === "\\" && i + 1 < text.length) value += text[++i]
    else if (char === '"') return { value, end: i + 1 }
    else value += char
  }
  return undefined
}

/**
 * A column name at the start of a text, and what follows it: letters, digits, `_`, `$`, spaces and inner `-`, or
 * anything between double quotes.
 */
export const readName = (text: string): { readonly name: string; readonly rest: string } | undefined => {
  const trimmed = text.trim()
  if (trimmed.startsWith('"')) {
    const quoted = readQuoted(trimmed, 0)
    // PostgreSQL's names are never empty and hold no NUL, which would end the SQL text.
    if (quoted === undefined || quoted.value === "" || quoted.value.includes("\0")) return undefined
    return { name: quoted.value, rest: trimmed.slice(quoted.end) }
  }
  let end = 0
  for (const char of trimmed) {
    const dash = char === "-" && end > 0 && trimmed[end + 1] !== ">"
    if (!dash && !bareCharacter.test(char)) break
    end += char.length
  }
  return end === 0 ? undefined : { name: trimmed.slice(0, end).trimEnd(), rest: trimmed.slice(end) }
}

/** Splits at commas that stand outside quotes and parentheses. Undefined when one of those is not closed. */
export const splitList = (text: string): ReadonlyArray<string> | undefined => {
  const items: Array<string> = []
  let depth = 0
  let from = 0
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '"') {
      const quoted = readQuoted(text, i)
      if (quoted === undefined) return undefined
      i = quoted.end - 1
    } else if (char === "(") depth++
    else if (char === ")") {
      if (--depth < 0) return undefined
    } else if (char === "," && depth === 0) {
      items.push(text.slice(from, i))
      from = i + 1
    }
  }
  if (depth !== 0) return undefined
  items.push(text.slice(from))
  return items
}

/** The values of `(a,b,"c,d")`. `()` has none. Undefined when it is not such a list. */
export const quotedList = (text: string): ReadonlyArray<string> | undefined => {
  if (!text.startsWith("(") || !text.endsWith(")") || text.length < 2) return undefined
  const inner = text.slice(1, -1)
  if (inner === "") return []
  const values: Array<string> = []
  let i = 0
  for (;;) {
    if (inner[i] === '"') {
      const quoted = readQuoted(inner, i)
      if (quoted === undefined || (quoted.end < inner.length && inner[quoted.end] !== ",")) return undefined
      values.push(quoted.value)
      i = quoted.end
    } else {
      const comma = inner.indexOf(",", i)
      const end = comma < 0 ? inner.length : comma
      values.push(inner.slice(i, end))
      i = end
    }
    if (i >= inner.length) return values
    i++ // the comma
  }
}

/** Values as a PostgreSQL array literal, each quoted, so that any text stands for itself. */
export const arrayLiteral = (values: ReadonlyArray<string>) =>
  `{${values.map((value) => `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`).join(",")}}`

/** The `key=value` pairs of a query string, decoded (`+` is a space); undefined when the percent-encoding is broken. */
export const queryPairs = (query: string): ReadonlyArray<readonly [string, string]> | undefined => {
  if (query === "") return []
  const pairs: Array<readonly [string, string]> = []
  try {
    for (const part of query.split("&")) {
      if (part === "") continue
      const equals = part.indexOf("=")
      const key = equals < 0 ? part : part.slice(0, equals)
      pairs.push([decode(key), equals < 0 ? "" : decode(part.slice(equals + 1))])
    }
  } catch {
    return undefined
  }
  return pairs
}

const encoded = /[%+]/
const decode = (text: string) => (encoded.test(text) ? decodeURIComponent(text.replaceAll("+", " ")) : text)

/** An SQL identifier that means exactly this name. */
export const quoteName = (name: string) => `"${name.includes('"') ? name.replaceAll('"', '""') : name}"`
