import { type KeyboardEvent, useLayoutEffect, useRef, useState } from "react"
import { moment } from "../ui/format.ts"
import type { Entry } from "../wire/changes/message.ts"
import { summaryOf } from "./events.ts"

/** Of a line, in pixels; realtime.css has it too. */
const height = 32
/** Lines that are drawn above and below what is seen. */
const spare = 8

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", timeZone: "UTC" })
const tones = { INSERT: "good", UPDATE: "accent", DELETE: "bad" } as const

const Line = ({ entry }: { entry: Entry }) =>
  entry.tag === "gap" ? (
    <span className="gap">Events are missing here: reload what you have read before</span>
  ) : (
    <>
      <time dateTime={entry.at} title={moment(entry.at)}>
        {clock.format(new Date(entry.at))}
      </time>
      <span className={`badge ${tones[entry.operation]}`}>{entry.operation.toLowerCase()}</span>
      <code className="where">{entry.table}</code>
      <span className="what">{summaryOf(entry)}</span>
    </>
  )

interface EventListProps {
  readonly entries: ReadonlyArray<Entry>
  readonly chosen: number | undefined
  readonly onChoose: (entry: Entry) => void
}

/** Newest first; only what is seen is drawn. What is read stays in its place while more arrives above it. */
export const EventList = ({ chosen, entries, onChoose }: EventListProps) => {
  const box = useRef<HTMLDivElement>(null)
  const newest = useRef<number>(undefined)
  const [top, setTop] = useState(0)
  const [room, setRoom] = useState(600)
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const observer = new ResizeObserver(() => setRoom(element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  useLayoutEffect(() => {
    const element = box.current
    const before = entries.findIndex(({ id }) => id === newest.current)
    newest.current = entries[0]?.id
    if (element !== null && element.scrollTop > 0 && before > 0) element.scrollTop += before * height
  }, [entries])
  const from = Math.max(0, Math.floor(top / height) - spare)
  const drawn = entries.slice(from, Math.ceil((top + room) / height) + spare)
  const at = entries.findIndex(({ id }) => id === chosen)
  const keys = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(room / height) - 1)
    const targets: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: Math.max(0, at - 1),
      PageDown: at + page,
      PageUp: Math.max(0, at - page),
      Home: 0,
      End: entries.length - 1
    }
    const target = targets[event.key]
    if (target === undefined) return
    event.preventDefault()
    const next = Math.min(target, entries.length - 1)
    const entry = entries[next]
    if (entry === undefined || box.current === null) return
    onChoose(entry)
    const { scrollTop } = box.current
    if (next * height < scrollTop) box.current.scrollTop = next * height
    else if ((next + 1) * height > scrollTop + room) box.current.scrollTop = (next + 1) * height - room
  }
  return (
    <div
      ref={box}
      className="events-list"
      role="listbox"
      tabIndex={0}
      aria-label="Events, newest first"
      aria-activedescendant={at >= from && at < from + drawn.length ? `event-${entries[at]?.tag}-${chosen}` : undefined}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={keys}
    >
      <div role="presentation" style={{ height: entries.length * height, paddingTop: from * height }}>
        {drawn.map((entry, index) => (
          // Its keys are those of the list, which keeps the focus.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
          <div
            key={`${entry.tag} ${entry.id}`}
            id={`event-${entry.tag}-${entry.id}`}
            role="option"
            aria-selected={entry.id === chosen}
            aria-posinset={from + index + 1}
            aria-setsize={entries.length}
            onClick={() => onChoose(entry)}
          >
            <Line entry={entry} />
          </div>
        ))}
      </div>
    </div>
  )
}
