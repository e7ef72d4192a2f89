import { useState } from "react"
import type { SavedQuery } from "../shell/saved.ts"
import { keepList, readList } from "../ui/page/kept.ts"
import { keepQueries, type Query, readQueries } from "../ui/page/queries.ts"

export interface Ran {
  readonly at: number
  readonly text: string
  /** Undefined: it was refused. */
  readonly millis: number | undefined
}

const historyName = "svc.sql.history"
/** Statements that are remembered. */
const most = 200

const first: Query = { id: 1, name: "Query 1", text: "" }

/** The queries of this browser; at least one. */
export const useTabs = () => {
  const [tabs, setTabs] = useState<readonly [Query, ...ReadonlyArray<Query>]>(() => {
    const [one = first, ...rest] = readQueries()
    return [one, ...rest]
  })
  const [at, setAt] = useState(tabs[0].id)
  const become = (next: ReadonlyArray<Query>) => {
    const [one = first, ...rest] = next
    setTabs([one, ...rest])
    keepQueries([one, ...rest])
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

export const ranBefore = () => readList<Ran>(historyName)
export const remember = (ran: Ran) => {
  const others = ranBefore().filter(({ text }) => text !== ran.text)
  keepList(historyName, [ran, ...others].slice(0, most))
}
