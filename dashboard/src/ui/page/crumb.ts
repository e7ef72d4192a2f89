import { useEffect, useSyncExternalStore } from "react"

/** The name of a record whose id is in the address. */
interface Named {
  readonly id: string
  readonly name: string
}

let current: Named | undefined
const listeners = new Set<() => void>()
const become = (next: Named | undefined) => {
  current = next
  for (const listener of listeners) listener()
}
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

/** Has the path at the top, and the title of the tab, name a record by its name. Undefined: not known yet. */
export const useCrumb = (id: string | number, name: string | undefined) => {
  useEffect(() => {
    if (name === undefined || name === "") return
    become({ id: String(id), name })
    return () => become(undefined)
  }, [id, name])
}

/** How a part of the address is shown. */
export const useCrumbName = () => {
  const named = useSyncExternalStore(subscribe, () => current)
  return (part: string) => (named?.id === part ? named.name : part)
}
