import { useRef, useState } from "react"
import type { Item } from "../workspace/items.ts"
import { keepQueries, type Query, readQueries, type Values } from "../ui/page/queries.ts"

/** A query of this window. */
export interface Tab extends Query {
  /** Stays the same when the query gets another id: its editor and its result are those of the slot. */
  readonly slot: number
}

let slots = 0
const tabOf = (query: Query): Tab => ({ ...query, slot: ++slots })
const without = ({ id, name, saved, text, values }: Tab): Query => ({ id, name, text, values, saved })
const nextId = (queries: ReadonlyArray<Query>) => Math.max(0, ...queries.map(({ id }) => id)) + 1

/**
 * The queries of this window; at least one. All windows of the browser keep theirs in one list, of which each writes only
 * what is its own: a query that two of them change becomes two queries.
 */
export const useTabs = () => {
  const [tabs, setTabs] = useState<ReadonlyArray<Tab>>(() => {
    const kept = readQueries()
    return (kept.length === 0 ? [{ id: 1, name: "Query 1", text: "" }] : kept).map(tabOf)
  })
  const [at, setAt] = useState(tabs[0]?.slot)
  /** What the list had for a query when this window last read or wrote it. */
  const [known] = useState(() => new Map(tabs.map(({ id, text }) => [id, text])))
  // The last one can't be closed.
  const current = (tabs.find(({ slot }) => slot === at) ?? tabs[0]) as Tab
  // Changes can follow each other faster than the page is rendered.
  const latest = useRef(current)
  if (latest.current.slot !== current.slot) latest.current = current

  const keep = (queries: ReadonlyArray<Query>, { id, text }: Query) => {
    if (keepQueries(queries)) known.set(id, text)
  }
  const add = (tab: Tab) => {
    keep([...readQueries().filter(({ id }) => id !== tab.id), without(tab)], tab)
    setTabs((all) => [...all, tab])
    setAt(tab.slot)
  }
  const change = (part: Partial<Query>) => {
    const mine = latest.current
    const all = readQueries()
    const there = all.find(({ id }) => id === mine.id)
    const taken = there !== undefined && there.text !== known.get(mine.id)
    const id = taken ? nextId([...all, ...tabs]) : mine.id
    const next = { ...mine, id, name: mine.name.replace(`Query ${mine.id}`, `Query ${id}`), ...part }
    latest.current = next
    const isNew = taken || there === undefined
    keep(isNew ? [...all, without(next)] : all.map((one) => (one === there ? without(next) : one)), next)
    setTabs((before) => before.map((one) => (one.slot === next.slot ? next : one)))
  }
  return {
    tabs,
    current,
    choose: setAt,
    write: (text: string) => change({ text }),
    give: (number: number, value: string | null | undefined) => {
      const { [number]: _, ...others } = latest.current.values ?? {}
      change({ values: value === undefined ? others : { ...others, [number]: value } })
    },
    giveAll: (values: Values) => change({ values }),
    /** It is saved under this name, at this revision. */
    saved: ({ id, name, revision }: Pick<Item, "id" | "name" | "revision">) =>
      change({ name, saved: { id, revision } }),
    /** Returns the slot of the new tab, or of the one that has the query already. */
    open: (query?: Omit<Query, "id">) => {
      const there = tabs.find(
        ({ saved, text }) => saved !== undefined && saved.id === query?.saved?.id && text === query.text
      )
      if (there !== undefined) {
        setAt(there.slot)
        return there.slot
      }
      const id = nextId([...readQueries(), ...tabs])
      const tab = tabOf({ id, name: `Query ${id}`, text: "", ...query })
      add(tab)
      return tab.slot
    },
    /** Returns what opens it again. */
    close: (closed: Tab) => {
      const all = readQueries()
      const mine = known.get(closed.id)
      keepQueries(all.filter(({ id, text }) => id !== closed.id || text !== mine))
      const left = tabs.filter(({ slot }) => slot !== closed.slot)
      setTabs(left)
      if (closed.slot === current.slot) setAt(left[0]?.slot)
      return () => add(closed)
    }
  }
}
