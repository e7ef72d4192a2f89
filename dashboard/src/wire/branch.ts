import { place } from "./place.ts"

let isGone = false
const listeners = new Set<() => void>()

/**
 * Whether the service has said that the branch of this page is gone. It decides what is shown, and nothing else: requests
 * go on naming the branch, and are refused.
 */
export const branchState = {
  isGone: () => isGone,
  /** A request was refused, because the branch with this id does not exist. */
  gone: (id: string | undefined) => {
    if (id === undefined || id !== place.branch || isGone) return
    isGone = true
    for (const listener of listeners) listener()
  },
  subscribe: (listener: () => void) => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }
}
