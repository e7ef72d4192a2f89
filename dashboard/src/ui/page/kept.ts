/** A list in local storage; empty if it is missing or invalid. */
export const readList = <A>(name: string): ReadonlyArray<A> => {
  try {
    const kept = JSON.parse(localStorage.getItem(name) ?? "[]") as unknown
    return Array.isArray(kept) ? (kept as ReadonlyArray<A>) : []
  } catch {
    return []
  }
}

export const keepList = (name: string, list: ReadonlyArray<unknown>) => {
  try {
    localStorage.setItem(name, JSON.stringify(list))
  } catch {
    // The browser's storage is full: the page goes on without.
  }
}
