/** A list that this browser keeps under a name; empty if there is none that can be read. */
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
