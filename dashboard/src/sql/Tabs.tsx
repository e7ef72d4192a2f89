import type { KeyboardEvent } from "react"
import { Button } from "../ui/Button.tsx"
import type { Query } from "../ui/page/queries.ts"

interface TabsProps {
  readonly tabs: ReadonlyArray<Query>
  readonly current: number
  readonly onChoose: (id: number) => void
  readonly onOpen: () => void
  readonly onClose: (id: number) => void
}

export const Tabs = ({ current, onChoose, onClose, onOpen, tabs }: TabsProps) => {
  const keys = (event: KeyboardEvent<HTMLElement>) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const at = (tabs.findIndex(({ id }) => id === current) + step + tabs.length) % tabs.length
    const next = tabs[at]
    if (next !== undefined) onChoose(next.id)
    event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")[at]?.focus()
  }
  return (
    <div className="sql-tabs">
      {/* oxlint-disable-next-line jsx-a11y/interactive-supports-focus -- its tabs have the focus */}
      <div role="tablist" aria-label="Queries" onKeyDown={keys}>
        {tabs.map(({ id, name }) => (
          <button
            key={id}
            type="button"
            role="tab"
            aria-selected={id === current}
            aria-controls="sql-panel"
            tabIndex={id === current ? 0 : -1}
            onClick={() => onChoose(id)}
          >
            {name}
          </button>
        ))}
      </div>
      <Button kind="quiet" icon="plus" label="New query" onClick={onOpen} />
      {tabs.length === 1 ? null : (
        <Button kind="quiet" icon="x" label="Close this query" onClick={() => onClose(current)} />
      )}
    </div>
  )
}
