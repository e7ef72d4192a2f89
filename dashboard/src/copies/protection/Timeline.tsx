import { type PointerEvent, useState } from "react"
import { bytes, plural } from "../../ui/format.ts"
import { Icon } from "../../ui/Icon.tsx"
import { momentOf, spansOf } from "./moments.ts"
import type { Drill, Protection } from "./queries.ts"
import { hasText, lineOf, tickText, timeAt } from "./timeline.ts"

interface TimelineProps {
  readonly state: Protection
  readonly drills: ReadonlyArray<Drill>
  /** When the state was read, by the browser's clock. */
  readonly now: number
  readonly onChoose: (time: number) => void
}

const left = (at: number) => ({ left: `${at}%` })
const drillWords = {
  passed: "Trial restore passed",
  failed: "Trial restore failed",
  running: "Trial restore is running"
}

const Legend = ({ drills, gaps }: { readonly drills: boolean; readonly gaps: boolean }) => (
  <ul>
    <li className="can">can be restored</li>
    {gaps ? <li className="gap">lost</li> : null}
    <li className="base">base backup</li>
    {drills ? <li className="drill">trial restore</li> : null}
  </ul>
)

/** The times that can be restored. What it shows is in words too; a press chooses a time, as the form does by keyboard. */
export const Timeline = ({ drills, now, onChoose, state }: TimelineProps) => {
  const [pointed, setPointed] = useState<number>()
  const line = lineOf({
    now,
    keep: state.keep_seconds * 1000,
    spans: spansOf(state.spans),
    bases: state.base_backups,
    drills
  })
  const timeOf = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    return timeAt(line, (event.clientX - left) / width)
  }
  const label = `Times that can be restored: ${line.spans.map(({ of }) => `${momentOf(of.from)} to ${momentOf(of.to)}`).join("; ")}. ${plural(line.bases.length, "base backup")}`
  return (
    <figure className="timeline">
      <div className="timeline-marks" aria-hidden="true">
        {line.drills.map(({ at, of }) => (
          <span
            key={of.id}
            className={`drill ${of.status}`}
            style={left(at)}
            title={`${drillWords[of.status]}: ${momentOf(Date.parse(of.target_time))}`}
          >
            <Icon name={of.status === "failed" ? "x" : of.status === "passed" ? "check" : "refresh"} size={12} />
          </span>
        ))}
      </div>
      {/* The button "Restore to a time" does the same by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions */}
      <div
        className="timeline-track"
        role="img"
        aria-label={label}
        onPointerMove={(event) => setPointed(timeOf(event))}
        onPointerLeave={() => setPointed(undefined)}
        onClick={(event) => onChoose(timeOf(event as unknown as PointerEvent<HTMLElement>))}
      >
        {line.spans.map(({ at, of, width }) => (
          <span key={of.from} className="span" style={{ ...left(at), width: `${width}%` }} />
        ))}
        {line.gaps.map(({ at, of, width }) => (
          <span key={of.from} className="gap" style={{ ...left(at), width: `${width}%` }} />
        ))}
        {line.ticks.map(({ at, of }) => (
          <span key={of} className="tick" style={left(at)} />
        ))}
        {pointed === undefined ? null : (
          <span className="cursor" style={left(((pointed - line.from) / (line.to - line.from)) * 100)}>
            <span>{momentOf(pointed)}</span>
          </span>
        )}
      </div>
      <div className="timeline-marks below" aria-hidden="true">
        {line.bases.map(({ at, of }) => (
          <span
            key={of.id}
            className="base"
            style={left(at)}
            title={`Base backup of ${momentOf(Date.parse(of.completed_at))}, ${bytes(of.stored_bytes)}`}
          />
        ))}
      </div>
      <div className="timeline-days" aria-hidden="true">
        {line.ticks.filter(hasText).map(({ at, of }) => (
          <span key={of} style={left(at)}>
            {tickText(of)}
          </span>
        ))}
        <span className="now">now</span>
      </div>
      <figcaption>
        <Legend drills={line.drills.length > 0} gaps={line.gaps.length > 0} />
        <span className="faint">Times are in UTC</span>
      </figcaption>
    </figure>
  )
}
