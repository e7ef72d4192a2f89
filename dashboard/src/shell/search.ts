/** The query of an address: each name once with a text, or several times. */
export type Search = Readonly<Record<string, string | ReadonlyArray<string>>>

type Pair = readonly [name: string, value: string]

/** The parameters in their order. */
export const pairsOf = (search: Search): ReadonlyArray<Pair> =>
  Object.entries(search).flatMap(([name, value]) =>
    (typeof value === "string" ? [value] : value).map((one): Pair => [name, one])
  )

export const searchOf = (pairs: Iterable<Pair>): Search => {
  const found = new Map<string, string | ReadonlyArray<string>>()
  for (const [name, value] of pairs) {
    const old = found.get(name)
    found.set(name, old === undefined ? value : typeof old === "string" ? [old, value] : [...old, value])
  }
  return Object.fromEntries(found)
}

export const parseSearch = (text: string): Search => searchOf(new URLSearchParams(text))

const readable: Readonly<Record<string, string>> = { "%2C": ",", "%28": "(", "%29": ")", "%3A": ":", "%2A": "*" }

/** The reverse. What need not be encoded is not: the address of a table is the query of its rows, and is read. */
export const stringifySearch = (search: Readonly<Record<string, unknown>>): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(search)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) query.append(name, String(one))
  }
  const text = query.toString().replaceAll(/%2C|%28|%29|%3A|%2A/g, (code) => readable[code] ?? code)
  return text === "" ? "" : `?${text}`
}
