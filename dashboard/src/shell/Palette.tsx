import { useNavigate } from "@tanstack/react-router"
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react"
import { useCatalogue } from "../catalogue/queries.ts"
import { Dialog } from "../ui/Dialog.tsx"
import { Icon } from "../ui/Icon.tsx"
import type { IconName } from "../ui/icons.ts"
import { mayLeave } from "../ui/page/unsaved.ts"
import { session } from "../wire/session.ts"
import { recentTables } from "./recent.ts"
import { useItems } from "../workspace/items.ts"
import { places } from "./places.ts"
import { applyTheme } from "./theme.ts"

interface Action {
  readonly name: string
  readonly icon: IconName
  readonly note: string
  readonly to?: string
  readonly search?: Readonly<Record<string, string>>
  readonly run?: () => void
}

/** Entries that are shown at most; typing narrows them down. */
const most = 40

const actions: ReadonlyArray<Action> = [
  { name: "New table", icon: "plus", note: "Action", to: "/tables", search: { new: "table" } }
]

const signOut = async () => {
  if (await mayLeave()) await session.close()
}

const settings: ReadonlyArray<Action> = [
  { name: "Light theme", icon: "sun", note: "Setting", run: () => applyTheme("light") },
  { name: "Dark theme", icon: "moon", note: "Setting", run: () => applyTheme("dark") },
  { name: "Sign out", icon: "signout", note: "Session", run: () => void signOut() }
]

const keyOf = ({ name, note, search, to = "" }: Action) => `${note} ${name} ${to} ${search?.["saved"] ?? ""}`

/** Names that begin with the words first, then those that contain them; among these, what was opened last. */
const search = (all: ReadonlyArray<Action>, words: string) => {
  const letters = words.toLowerCase().trim()
  return all
    .map((action) => ({ action, place: action.name.toLowerCase().indexOf(letters) }))
    .filter(({ place }) => place >= 0)
    .toSorted((a, b) => (letters === "" ? 0 : a.place - b.place))
    .slice(0, most)
    .map(({ action }) => action)
}

export const Palette = ({ onClose }: { onClose: () => void }) => {
  const [words, setWords] = useState("")
  /** What was moved to, by name: tables that arrive meanwhile move its place. */
  const [moved, setMoved] = useState<string>()
  const list = useRef<HTMLUListElement>(null)
  const navigate = useNavigate()
  const { data } = useCatalogue()
  const saved = useItems({}).data
  const items = useMemo(() => saved?.filter(({ kind }) => kind !== "view"), [saved])
  const all = useMemo((): ReadonlyArray<Action> => {
    const entry =
      (icon: IconName, note: string) =>
      ({ name, schema }: { readonly name: string; readonly schema: string }) => ({
        icon,
        note,
        name: schema === "public" ? name : `${schema}.${name}`,
        to: `/tables/${encodeURIComponent(schema)}/${encodeURIComponent(name)}`
      })
    const tables = [
      ...(data?.tables ?? []).map(entry("table", "Table")),
      ...(data?.views ?? []).map(entry("view", "View"))
    ]
    const recent = recentTables().flatMap((path) => tables.find(({ to }) => to === path) ?? [])
    return [
      ...recent,
      ...places.flatMap(([, pages]) => pages.map(({ icon, name, to }) => ({ icon, name, to, note: "Page" }))),
      ...tables.filter((one) => !recent.includes(one)),
      ...(items ?? []).map(({ id, kind, mine, name, owner }): Action => {
        const note = `${kind === "query" ? "Saved query" : "Board"}${mine ? "" : ` of ${owner.label}`}`
        return kind === "query"
          ? { name, note, icon: "sql", to: "/sql", search: { saved: String(id) } }
          : { name, note, icon: "board", to: `/boards/${id}` }
      }),
      ...actions,
      ...settings
    ]
  }, [data, items])
  const found = useMemo(() => search(all, words), [all, words])
  const at = Math.max(
    0,
    found.findIndex((one) => keyOf(one) === moved)
  )
  const moveTo = (index: number) => {
    const action = found[index]
    if (action !== undefined) setMoved(keyOf(action))
  }
  const go = (action: Action | undefined) => {
    if (action === undefined) return
    onClose()
    if (action.to === undefined) action.run?.()
    else void navigate({ to: action.to, search: action.search ?? {} })
  }
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" })
  }, [at])
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step === 0 && event.key !== "Enter") return
    event.preventDefault()
    if (step === 0) go(found[at])
    else moveTo((at + step + found.length) % Math.max(1, found.length))
  }
  return (
    <Dialog label="Go to" className="palette" onClose={onClose}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[at] === undefined ? undefined : `palette-${at}`}
        aria-label="Go to a table or page"
        placeholder="Go to a table or page…"
        value={words}
        onChange={(event) => {
          setWords(event.target.value)
          setMoved(undefined)
        }}
        onKeyDown={keys}
      />
      {found.length === 0 ? <p className="none">No table, page or action has this name.</p> : null}
      <ul ref={list} id="palette-list" role="listbox" aria-label="Results">
        {found.map((action, index) => (
          // Its keys are those of the input, which keeps the focus.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <li
            key={keyOf(action)}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onMouseMove={() => moveTo(index)}
            onClick={() => go(action)}
          >
            <Icon name={action.icon} /> <b>{action.name}</b> <small>{action.note}</small>
          </li>
        ))}
      </ul>
      <footer aria-hidden="true">
        <span>↑↓ choose</span>
        <span>↵ open</span>
        <span>esc close</span>
      </footer>
    </Dialog>
  )
}
