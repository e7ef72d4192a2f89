/** Texts around the row grammar: array literals, query strings, SQL names. Names, quotes and lists are read in RowCursor.ts. */

/** Values as a PostgreSQL array literal, each quoted, so that any text stands for itself. */
export const arrayLiteral = (values: ReadonlyArray<string>) =>
  `{${values.map((value) => `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`).join(",")}}`

/**
 * The `key=value` pairs of a query string, decoded (`+` is a space); undefined when the percent-encoding is broken. What
 * has no `=` says nothing.
 */
export const queryPairs = (query: string): ReadonlyArray<readonly [string, string]> | undefined => {
  if (query === "") return []
  const pairs: Array<readonly [string, string]> = []
  try {
    for (const part of query.split("&")) {
      if (part === "") continue
      const equals = part.indexOf("=")
      const key = decode(equals < 0 ? part : part.slice(0, equals))
      if (equals >= 0) pairs.push([key, decode(part.slice(equals + 1))])
    }
  } catch {
    return undefined
  }
  return pairs
}

const encoded = /[%+]/
const decode = (text: string) => (encoded.test(text) ? decodeURIComponent(text.replaceAll("+", " ")) : text)

/** A string literal of SQL, under `standard_conforming_strings` (the default). */
export const quoteLiteral = (text: string) => `'${text.replaceAll("'", "''")}'`

/** An SQL identifier that means exactly this name. */
export const quoteName = (name: string) => `"${name.includes('"') ? name.replaceAll('"', '""') : name}"`
