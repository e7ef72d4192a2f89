import { readList } from "../ui/page/kept.ts"
import type { Values } from "../ui/page/queries.ts"

/** A query that is kept by this browser, by name. */
export interface SavedQuery {
  readonly name: string
  readonly text: string
  readonly values?: Values
}

const kept = "svc.sql.saved"
/** Characters of a name. */
export const longestName = 80

const isQuery = (value: unknown): value is SavedQuery =>
  typeof value === "object" && value !== null && "name" in value && "text" in value

/** By name. */
export const savedQueries = (): ReadonlyArray<SavedQuery> =>
  readList<unknown>(kept)
    .filter(isQuery)
    .toSorted((a, b) => a.name.localeCompare(b.name))

const others = (name: string) => savedQueries().filter((one) => one.name !== name)

/** Fails if the browser has no room. */
export const saveQuery = (query: SavedQuery) =>
  localStorage.setItem(kept, JSON.stringify([...others(query.name), query]))

export const dropQuery = (name: string) => localStorage.setItem(kept, JSON.stringify(others(name)))
