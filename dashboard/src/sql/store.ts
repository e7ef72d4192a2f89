import { useState } from "react"
import type { SavedQuery } from "../shell/saved.ts"

export interface Tab {
  readonly id: number
  readonly name: string
  readonly text: string
}

export interface Ran {
  readonly at: number
  readonly text: string
  /** Undefined: it was refused. */
  readonly millis: number | undefined
}

const tabsName = "svc.sql.tabs"
const historyName = "svc.sql.history"
/** Statements that are remembered. */
const most = 200

const read = <A>(name: string): ReadonlyArray<A> => {
  try {
    const kept = JSON.parse(localStorage.getItem(name) ?? "[]") as unknown
    return Array.isArray(kept) ? (kept as ReadonlyArray<A>) : []
  } catch {
    return []
  }
}

const keep = (name: string, value: unknown) => {
  try {
    localStorage.setItem(name, JSON.stringify(value))
  } catch {
    // The browser's storage is full: the page goes on without.
  }
}

const first: Tab = { id: 1, name: "Query 1", text: "" }

/** The queries of this browser; at least one. */
export const useTabs = () => {
  const [tabs, setTabs] = useState<readonly [Tab, ...ReadonlyArray<Tab>]>(() => {
    const [one = first, ...rest] = read<Tab>(tabsName)
    return [one, ...rest]
  })
  const [at, setAt] = useState(tabs[0].id)
  const become = (next: ReadonlyArray<Tab>) => {
    const [one = first, ...rest] = next
    setTabs([one, ...rest])
    keep(tabsName, [one, ...rest])
    return one
  }
  const current = tabs.find(({ id }) => id === at) ?? tabs[0]
  return {
    tabs,
    current,
    choose: setAt,
    write: (text: string) => void become(tabs.map((tab) => (tab.id === current.id ? { ...tab, text } : tab))),
    rename: (name: string) => void become(tabs.map((tab) => (tab.id === current.id ? { ...tab, name } : tab))),
    open: (query?: SavedQuery) => {
      const there = tabs.find(({ name, text }) => name === query?.name && text === query.text)
      if (there !== undefined) return setAt(there.id)
      const id = Math.max(...tabs.map((tab) => tab.id)) + 1
      become([...tabs, { id, name: query?.name ?? `Query ${id}`, text: query?.text ?? "" }])
      setAt(id)
    },
    close: (id: number) => {
      const one = become(tabs.filter((tab) => tab.id !== id))
      if (id === current.id) setAt(one.id)
    }
  }
}

export const ranBefore = () => read<Ran>(historyName)
export const remember = (ran: Ran) => {
  const others = ranBefore().filter(({ text }) => text !== ran.text)
  keep(historyName, [ran, ...others].slice(0, most))
}
