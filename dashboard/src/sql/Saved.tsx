import { type FormEvent, useState } from "react"
import { dropQuery, longestName, savedQueries, saveQuery, type SavedQuery } from "../shell/saved.ts"
import { Button } from "../ui/Button.tsx"
import { Field } from "../ui/Field.tsx"
import type { Values } from "../ui/page/queries.ts"
import { Popover } from "../ui/Popover.tsx"
import { toast, toastError } from "../ui/toast.ts"

interface SavedProps {
  readonly name: string
  readonly text: string
  readonly values: Values
  readonly onSaved: (name: string) => void
  readonly onOpen: (query: SavedQuery) => void
}

const Panel = ({ close, name: first, onOpen, onSaved, text, values }: SavedProps & { readonly close: () => void }) => {
  const [name, setName] = useState(first)
  const [all, setAll] = useState(savedQueries)
  const there = all.some((one) => one.name === name.trim())
  const save = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() === "") return
    try {
      saveQuery({ name: name.trim(), text, values })
    } catch {
      return toastError(new Error("The browser has no room for it: remove a saved query"))
    }
    onSaved(name.trim())
    toast(`${name.trim()} saved in this browser`)
    close()
  }
  return (
    <div className="saved">
      <form onSubmit={save}>
        <Field label="Save this query as" value={name} maxLength={longestName} autoComplete="off" onText={setName} />
        <Button kind="main" type="submit" disabled={name.trim() === "" || text.trim() === ""}>
          {there ? "Replace" : "Save"}
        </Button>
      </form>
      {all.length === 0 ? (
        <p className="hint">Saved queries are kept by this browser, and are found with the palette.</p>
      ) : (
        <ul aria-label="Saved queries">
          {all.map((query) => (
            <li key={query.name}>
              <button
                type="button"
                onClick={() => {
                  close()
                  onOpen(query)
                }}
              >
                {query.name}
              </button>
              <Button
                kind="quiet"
                icon="trash"
                label={`Remove ${query.name}`}
                onClick={() => {
                  dropQuery(query.name)
                  setAll(savedQueries())
                }}
              />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** Queries with names, which outlive their tabs. */
export const Saved = (props: SavedProps) => (
  <Popover icon="docs" label="Saved queries" kind="quiet" align="end">
    {(close) => <Panel {...props} close={close} />}
  </Popover>
)
