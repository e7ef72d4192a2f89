/* The place in an address: which database its requests are about, and as whom they run. */

/** By what the address has: the id of a branch, and what `viewerText` writes. */
export interface Place {
  readonly branch?: string | undefined
  readonly as?: string | undefined
}
type Part = keyof Place
export const placeParts = ["branch", "as"] as const
/** What the address says instead of nothing, when the user has chosen it. */
export const chosenPlace: Readonly<Record<Part, string>> = { branch: "main", as: "service" }

const partOf = (pair: string) => {
  const [name = ""] = new URLSearchParams(pair).keys()
  return placeParts.find((part) => part === name)
}
const pairsOf = (search: string) => search.replace(/^\?/, "").split("&")

/** Also with `main` and `service`. A part that is given twice is all of its values, which name nothing. */
export const placeIn = (search: string): Place => {
  const query = new URLSearchParams(search)
  return Object.fromEntries(
    placeParts.flatMap((part) => (query.has(part) ? [[part, query.getAll(part).join(" ")]] : []))
  )
}

/** A query without its place. The rest stays as it is written. */
export const withoutPlace = (search: string): string => {
  const rest = pairsOf(search).filter((pair) => pair !== "" && partOf(pair) === undefined)
  return rest.length === 0 ? "" : `?${rest.join("&")}`
}

/** A query with this place instead of its own. */
export const withPlace = (search: string, place: Place): string => {
  const given = placeParts.flatMap((part) => {
    const value = place[part]
    return value === undefined ? [] : [[part, value] as const]
  })
  if (given.length === 0) return withoutPlace(search)
  const rest = withoutPlace(search)
  return `${rest === "" ? "?" : `${rest}&`}${new URLSearchParams(Object.fromEntries(given)).toString().replaceAll("%3A", ":")}`
}

/** What the tab was on and the address does not mention. */
export const lostOf = (address: Place, kept: Place): Place =>
  Object.fromEntries(Object.entries(kept).filter(([part]) => address[part as Part] === undefined))
