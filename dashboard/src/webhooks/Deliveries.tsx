import { useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { count, moment } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { Problem } from "../ui/Problem.tsx"
import { When } from "../ui/page/When.tsx"
import { Delivery } from "./Delivery.tsx"
import { outcomeOf, succeeded } from "./health.ts"
import { type Attempt, type Outcome, useLog } from "./queries.ts"

const filters: ReadonlyArray<readonly [Outcome | undefined, string]> = [
  [undefined, "All"],
  ["failed", "Failed"],
  ["succeeded", "Succeeded"]
]

const columnsOf = (open: (attempt: Attempt) => void): ReadonlyArray<ListColumn<Attempt>> => [
  {
    name: "Response",
    cell: (attempt) => <span className={`badge ${succeeded(attempt) ? "good" : "bad"}`}>{outcomeOf(attempt)}</span>
  },
  { name: "Event", cell: ({ event_type }) => <code>{event_type}</code> },
  {
    name: "When",
    cell: ({ created_at }) => (
      <span title={moment(created_at)}>
        <When at={created_at} />
      </span>
    )
  },
  { name: "Took", end: true, cell: ({ latency_ms }) => `${count(latency_ms)} ms` },
  {
    name: "Attempt",
    end: true,
    cell: ({ attempt }) => (attempt > 1 ? <span className="badge warn">try {attempt}</span> : "1")
  },
  {
    name: "Why it failed",
    cell: ({ error, response_body, ...attempt }) =>
      succeeded(attempt) ? null : <span className="cut soft">{error ?? response_body}</span>
  },
  {
    name: "Actions",
    actions: true,
    cell: (attempt) => (
      <Button kind="quiet" onClick={() => open(attempt)}>
        Show
      </Button>
    )
  }
]

/** The log of a webhook: live while its newest entries are shown. The address has the filter and the page. */
export const Deliveries = ({ webhook, watched }: { webhook: number; watched: boolean }) => {
  const search = useSearch({ strict: false }) as { readonly outcome?: string; readonly before?: string }
  const navigate = useNavigate()
  const outcome = filters.find(([value]) => value !== undefined && value === search.outcome)?.[0]
  const before = /^[1-9]\d{0,15}$/.test(search.before ?? "") ? Number(search.before) : undefined
  const [open, setOpen] = useState<Attempt>()
  const log = useLog(webhook, outcome, before)
  const go = (next: Readonly<Record<string, string>>) =>
    void navigate({ to: "/webhooks/$webhook", params: { webhook: String(webhook) }, search: next })
  const filter: Readonly<Record<string, string>> = outcome === undefined ? {} : { outcome }
  const oldest = log.data?.entries.at(-1)
  return (
    <section className="part" aria-label="Deliveries">
      <header>
        <h3>Deliveries</h3>
        {watched && before === undefined ? <span className="badge good">live</span> : null}
        <div className="segments" role="group" aria-label="Which deliveries">
          {filters.map(([value, words]) => (
            <button
              key={words}
              type="button"
              className="button quiet"
              aria-pressed={value === outcome}
              onClick={() => go(value === undefined ? {} : { outcome: value })}
            >
              {words}
            </button>
          ))}
        </div>
      </header>
      {log.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : log.isLoadingError ? (
        <Problem error={log.error} title="The log could not be read" onRetry={() => void log.refetch()} />
      ) : log.data.entries.length === 0 ? (
        <Empty
          icon="history"
          title={outcome === undefined && before === undefined ? "Nothing sent yet" : "No such delivery"}
          action={
            outcome === undefined && before === undefined ? null : (
              <Button onClick={() => go({})}>Show the newest</Button>
            )
          }
        >
          Every attempt is listed here, with what was sent and what the receiver responded. Change a row of the table,
          or send a test.
        </Empty>
      ) : (
        <List label="Deliveries" columns={columnsOf(setOpen)} rows={log.data.entries} keyOf={({ id }) => id} />
      )}
      <div className="pager">
        {before === undefined ? null : <Button onClick={() => go(filter)}>Newest</Button>}
        {log.data?.more === true && oldest !== undefined ? (
          <Button icon="right" onClick={() => go({ ...filter, before: String(oldest.id) })}>
            Older
          </Button>
        ) : null}
      </div>
      {open === undefined ? null : <Delivery attempt={open} onClose={() => setOpen(undefined)} />}
    </section>
  )
}
