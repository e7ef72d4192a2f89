import "./logs.css"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Choice, Without } from "../ui/page/Filters.tsx"
import { type Changes, useFilters } from "../ui/page/useFilters.ts"
import { Problem } from "../ui/Problem.tsx"
import { type Filters, type Line, pathOf, useLines } from "./queries.ts"

const levels = [
  ["WARN", "warnings and errors"],
  ["ERROR", "errors"],
  ["FATAL", "fatal errors"]
] as const
const sources = [["database", "PostgreSQL"]] as const
const kinds: Readonly<Partial<Record<Line["level"], string>>> = { WARN: "warn", ERROR: "bad", FATAL: "bad" }

const clock = new Intl.DateTimeFormat("en-GB", {
  day: "2-digit",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  timeZone: "UTC"
})

const FilterBar = ({ filters, onChange }: { filters: Filters; onChange: (changes: Changes<Filters>) => void }) => {
  const { from, level, request_id, source, text, to } = filters
  return (
    <div className="filters">
      <input
        type="search"
        className="field"
        aria-label="Search lines"
        placeholder="Search lines"
        value={text ?? ""}
        onChange={({ target }) => onChange({ text: target.value === "" ? undefined : target.value })}
      />
      <Choice
        label="Log"
        any="the service"
        value={source}
        choices={sources}
        onChoose={(chosen) => onChange({ source: chosen as Filters["source"] })}
      />
      <Choice
        label="Level"
        any="any level"
        value={level}
        choices={levels}
        onChoose={(chosen) => onChange({ level: chosen as Filters["level"] })}
      />
      <label>
        Before{" "}
        <input
          type="datetime-local"
          className="field"
          aria-label="Lines before, in UTC"
          value={(to ?? "").slice(0, 16)}
          onChange={({ target }) => onChange({ to: target.value === "" ? undefined : `${target.value}:00Z` })}
        />
      </label>
      {request_id === undefined ? null : (
        <Without name={`request ${request_id}`} onRemove={() => onChange({ request_id: undefined })} />
      )}
      {from === undefined ? null : <Without name={`from ${from}`} onRemove={() => onChange({ from: undefined })} />}
    </div>
  )
}

interface LinesProps {
  readonly lines: ReadonlyArray<Line>
  readonly onRequest: (id: string) => void
}

const Lines = ({ lines, onRequest }: LinesProps) => (
  <ol className="log-lines" aria-label="Lines">
    {lines.map(({ at, details, host, level, request_id, text, worker }, index) => (
      // Lines of the same moment may have the same text.
      <li
        key={`${at} ${text} ${lines.slice(Math.max(0, index - 20), index).filter((one) => one.at === at && one.text === text).length}`}
      >
        <p>
          <time dateTime={at}>{clock.format(new Date(at))}</time>
          <span className={`badge ${kinds[level] ?? ""}`}>{level.toLowerCase()}</span>
          <span className="log-text">{text}</span>
          {worker === 0 ? null : <small title={host}>worker {worker}</small>}
          {request_id === null ? null : (
            <button
              type="button"
              className="row-link"
              title="Show the lines of this request"
              onClick={() => onRequest(request_id)}
            >
              {request_id}
            </button>
          )}
        </p>
        {details === null ? null : (
          <details>
            <summary>Details</summary>
            <pre>{details}</pre>
          </details>
        )}
      </li>
    ))}
  </ol>
)

/** The lines that the service and its PostgreSQL have logged. */
export const LogsPage = () => {
  const { change, clear, filters } = useFilters<Filters>("/logs")
  const [live, setLive] = useState(true)
  // Only what is on the first page can be new.
  const [more, setMore] = useState(false)
  const logs = useLines(filters, live && !more)
  const pages = logs.data?.pages ?? []
  const lines = pages.flatMap((page) => page.lines)
  const [first] = pages
  const ofDatabase = filters.source === "database"
  const filtered = Object.keys(filters).some((name) => name !== "source")
  return (
    <div className="page">
      <div className="page-head">
        <h2>Logs</h2>
        <CopyRequest path={pathOf(filters)} />
        <Button
          icon={live && !more ? "stop" : "play"}
          onClick={() => {
            setLive(more || !live)
            setMore(false)
          }}
        >
          {live && !more ? "Pause" : "Resume"}
        </Button>
      </div>
      <p className="lead">
        What the service and its PostgreSQL have logged{first === undefined ? "" : ` on ${first.host}`}, up to 64 MiB.
        Each replica shows its own lines.
      </p>
      <FilterBar filters={filters} onChange={change} />
      {logs.isLoadingError ? (
        <Problem error={logs.error} title="The log could not be read" onRetry={() => void logs.refetch()} />
      ) : first === undefined ? (
        <Skeleton lines={[100, 100, 100, 100]} />
      ) : ofDatabase && first.database === "external" ? (
        <Empty icon="storage" title="The log of an external PostgreSQL can't be read here">
          It is where its operator keeps it: on its server, or at its provider. The service&apos;s own lines are here.
        </Empty>
      ) : lines.length > 0 ? (
        <>
          <Lines lines={lines} onRequest={(request_id) => change({ request_id })} />
          {logs.hasNextPage ? (
            <Button
              busy={logs.isFetchingNextPage}
              onClick={() => {
                setMore(true)
                void logs.fetchNextPage()
              }}
            >
              Older lines
            </Button>
          ) : null}
        </>
      ) : filtered ? (
        <Empty icon="filter" title="No line matches" action={<Button onClick={clear}>Clear filters</Button>}>
          {filters.request_id === undefined
            ? "Older lines are deleted first."
            : "Requests that the service refuses are not logged, only those that fail; another replica may have served this one."}
        </Empty>
      ) : (
        <Empty icon="lines" title="No lines yet">
          What goes wrong, and what the service does by itself, appears here.
        </Empty>
      )}
    </div>
  )
}
