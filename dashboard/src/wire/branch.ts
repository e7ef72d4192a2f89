/** The database that `/v1` requests use; undefined: the main one. Kept by the tab only: a new one starts on main. */
export interface Branch {
  readonly id: number
  readonly label: string
}

let current: Branch | undefined
let lost: Branch | undefined
const listeners = new Set<() => void>()

export const branch = {
  current: () => current,
  /** The one that was worked on until it was dropped or expired, until another is chosen. */
  lost: () => lost,
  choose: (next: Branch | undefined) => {
    current = next
    lost = undefined
    for (const listener of listeners) listener()
  },
  /** A request was refused, because the branch with this id is gone: back to the main database. */
  gone: (id: string | undefined) => {
    if (current === undefined || String(current.id) !== id) return
    lost = current
    current = undefined
    for (const listener of listeners) listener()
  },
  subscribe: (listener: () => void) => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  },
  /** The header of a request to this path. `/api` is about the service, not about a database. */
  headers: (path: string): Readonly<Record<string, string>> =>
    current !== undefined && path.startsWith("/v1/") ? { "x-svc-branch": String(current.id) } : {}
}
