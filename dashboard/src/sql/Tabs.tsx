import type { KeyboardEvent } from "react"
import { Button } from "../ui/Button.tsx"
import type { Tab } from "./store.ts"

interface TabsProps {
  readonly tabs: ReadonlyArray<Tab>
  readonly current: Tab
  readonly onChoose: (slot: number) => void
  readonly onOpen: () => void
  readonly onClose: (tab: Tab) => void
}

export const Tabs = ({ current, onChoose, onClose, onOpen, tabs }: TabsProps) => {
  const keys = (event: KeyboardEvent<HTMLElement>) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const at = (tabs.findIndex(({ slot }) => slot === current.slot) + step + tabs.length) % tabs.length
    const next = tabs[at]
    if (next !== undefined) onChoose(next.slot)
    event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")[at]?.focus()
  }
  return (
    <div className="sql-tabs">
      {/* oxlint-disable-next-line jsx-a11y/interactive-supports-focus -- its tabs have the focus */}
      <div role="tablist" aria-label="Queries" onKeyDown={keys}>
        {tabs.map(({ name, slot }) => (
          <button
            key={slot}
            type="button"
            role="tab"
            aria-selected={slot === current.slot}
            aria-controls="sql-panel"
            tabIndex={slot === current.slot ? 0 : -1}
            onClick={() => onChoose(slot)}
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
