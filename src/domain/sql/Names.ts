/** Values as a PostgreSQL array literal, each quoted. */
export const arrayLiteral = (values: ReadonlyArray<string>) =>
  `{${values.map((value) => `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`).join(",")}}`

/**
 * The `key=value` pairs of a query string, decoded (`+` is a space); undefined if the percent-encoding is invalid. Parts
 * without `=` are ignored.
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

/** A quoted SQL identifier. */
export const quoteName = (name: string) => `"${name.includes('"') ? name.replaceAll('"', '""') : name}"`
