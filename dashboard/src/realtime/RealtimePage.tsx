import "./realtime.css"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useDeferredValue, useEffect, useMemo, useState, useSyncExternalStore } from "react"
import { useSubscriptions } from "../catalogue/subscriptions.ts"
import { Button } from "../ui/Button.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Empty } from "../ui/Empty.tsx"
import { count, plural } from "../ui/format.ts"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { Problem } from "../ui/Problem.tsx"
import { EventList } from "./EventList.tsx"
import { EventPanel } from "./EventPanel.tsx"
import { type Filter, matching } from "./events.ts"
import { Feed, type FeedView } from "./feed.ts"
import { Snippet } from "./Snippet.tsx"
import { nameOf, Subscriptions, SubscriptionWarnings } from "./Subscriptions.tsx"

const operations = ["", "INSERT", "UPDATE", "DELETE"]

const State = ({ onRetry, view }: { view: FeedView; onRetry: () => void }) =>
  view.state === "open" ? (
    <span className={`badge ${view.paused ? "warn" : "good"}`}>{view.paused ? "paused" : "connected"}</span>
  ) : view.state === "connecting" ? (
    <span className="badge">connecting…</span>
  ) : (
    <>
      <span className="badge bad">disconnected</span>
      <span className="hint">{view.reason}. It connects again by itself.</span>
      <Button kind="quiet" onClick={onRetry}>
        Connect now
      </Button>
    </>
  )

/** Its parts are the address, so that it can be reloaded and shared. */
const useFilter = () => {
  const search = useSearch({ strict: false }) as Readonly<Record<string, string | undefined>>
  const navigate = useNavigate()
  const { operation = "", table = "", text = "" } = search
  const filter: Filter = useMemo(() => ({ operation, table, text }), [operation, table, text])
  const change = (part: Partial<Filter>) => {
    const next = Object.entries({ ...filter, ...part }).filter(([, value]) => value !== "")
    void navigate({ to: "/realtime", search: Object.fromEntries(next), replace: true })
  }
  return [filter, change] as const
}

export const RealtimePage = () => {
  const [feed] = useState(() => new Feed())
  useEffect(() => feed.open(), [feed])
  const view = useSyncExternalStore(feed.subscribe, feed.current)
  const subscriptions = useSubscriptions()
  const [filter, change] = useFilter()
  const [chosen, setChosen] = useState<number>()
  const [open, setOpen] = useState<"tables" | "snippet">()
  const text = useDeferredValue(filter.text)
  const found = useMemo(() => matching(view.entries, { ...filter, text }), [view.entries, filter, text])
  const selected = found.find(({ id }) => id === chosen)
  const tables = useMemo(
    () =>
      Array.from(new Set([...(subscriptions.data ?? []).map(nameOf), ...(filter.table === "" ? [] : [filter.table])])),
    [subscriptions.data, filter.table]
  )
  const none = subscriptions.data?.length === 0
  const choose = (
    <Button kind={none ? "main" : "plain"} onClick={() => setOpen("tables")}>
      Choose tables
    </Button>
  )
  return (
    <div className="realtime">
      <div className="page-head">
        <h2>Changes as they happen</h2>
        <State view={view} onRetry={feed.retry} />
        <CopyRequest path="/api/realtime/events" />
        <Button kind="quiet" onClick={() => setOpen("snippet")}>
          In an app
        </Button>
        {none ? null : choose}
      </div>
      <MainOnly>These are changes of the main database.</MainOnly>
      <SubscriptionWarnings only={filter.table} />
      {subscriptions.isError ? (
        <Problem error={subscriptions.error} title="The subscriptions could not be read" />
      ) : null}
      <div className="realtime-bar" role="search" aria-label="Events">
        <select
          className="field"
          aria-label="Table"
          value={filter.table}
          onChange={(event) => change({ table: event.target.value })}
        >
          <option value="">All tables</option>
          {tables.map((table) => (
            <option key={table}>{table}</option>
          ))}
        </select>
        <select
          className="field"
          aria-label="Operation"
          value={filter.operation}
          onChange={(event) => change({ operation: event.target.value })}
        >
          {operations.map((operation) => (
            <option key={operation} value={operation}>
              {operation === "" ? "All operations" : operation}
            </option>
          ))}
        </select>
        <input
          className="field"
          type="search"
          aria-label="Text in the event"
          placeholder="Text in the event"
          value={filter.text}
          onChange={(event) => change({ text: event.target.value })}
        />
        <span className="realtime-count" role="status">
          {found.length === view.entries.length
            ? plural(view.entries.length, "event")
            : `${count(found.length)} of ${plural(view.entries.length, "event")}`}
        </span>
        <Button icon={view.paused ? "play" : "stop"} onClick={() => feed.pause(!view.paused)}>
          {view.paused ? `Resume (${count(view.held)} new)` : "Pause"}
        </Button>
        <Button disabled={view.entries.length === 0} onClick={feed.clear}>
          Clear
        </Button>
      </div>
      <div className="realtime-body">
        {found.length > 0 ? (
          <EventList entries={found} chosen={chosen} onChoose={({ id }) => setChosen(id)} />
        ) : view.entries.length > 0 ? (
          <Empty
            icon="filter"
            title="No event matches"
            action={<Button onClick={() => change({ table: "", operation: "", text: "" })}>Clear filters</Button>}
          >
            {plural(view.entries.length, "event")} arrived, none with these words.
          </Empty>
        ) : none ? (
          <Empty icon="realtime" title="No table publishes its changes" action={choose}>
            Apps follow tables live over a WebSocket. Choose the tables, and see here what your apps receive.
          </Empty>
        ) : (
          <Empty icon="realtime" title="Waiting for changes">
            Change a row of {tables.length === 0 ? "a table" : tables.slice(0, 3).join(", ")}: it appears here as it is
            committed.
          </Empty>
        )}
        {selected?.tag === "change" ? <EventPanel change={selected} onClose={() => setChosen(undefined)} /> : null}
      </div>
      {open === "tables" ? <Subscriptions onClose={() => setOpen(undefined)} /> : null}
      {open === "snippet" ? <Snippet onClose={() => setOpen(undefined)} /> : null}
    </div>
  )
}
