/** A list in local storage; empty if it is missing or invalid. */
export const readList = <A>(name: string): ReadonlyArray<A> => {
  try {
    const kept = JSON.parse(localStorage.getItem(name) ?? "[]") as unknown
    return Array.isArray(kept) ? (kept as ReadonlyArray<A>) : []
  } catch {
    return []
  }
}

/** Whether the browser has room for it. The page goes on without. */
export const keepList = (name: string, list: ReadonlyArray<unknown>): boolean => {
  try {
    localStorage.setItem(name, JSON.stringify(list))
    return true
  } catch {
    return false
  }
}
