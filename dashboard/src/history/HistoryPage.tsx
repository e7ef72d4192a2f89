import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toastError } from "../ui/toast.ts"
import { save } from "../wire/save.ts"
import { EntryDialog, nameOf } from "./EntryDialog.tsx"
import { HistoryFilters } from "./HistoryFilters.tsx"
import { type Changes, useFilters } from "../ui/page/useFilters.ts"
import { type Entry, type Filters, pathOf, readCsv, useHistory } from "./queries.ts"

const kinds = { done: "", failed: "bad", refused: "warn" } as const

const Outcome = ({ entry: { code, outcome, status } }: { entry: Entry }) => (
  <>
    <span className={`badge ${kinds[outcome]}`}>{outcome}</span>{" "}
    {status === null ? null : (
      <small>
        {status} {code}
      </small>
    )}
  </>
)

const columnsOf = (
  choose: (changes: Changes<Filters>) => void,
  open: (entry: Entry) => void
): ReadonlyArray<ListColumn<Entry>> => [
  { name: "When", cell: ({ at }) => <When at={at} /> },
  {
    name: "By",
    cell: (entry) => {
      const { actor, dashboard } = entry
      return (
        <>
          <button
            type="button"
            className="row-link"
            title="Show what this one did"
            onClick={() => choose({ actor: actor.id === "" ? actor.type : `${actor.type}:${actor.id}` })}
          >
            {nameOf(entry)}
          </button>{" "}
          {dashboard ? <span className="badge">dashboard</span> : null}
        </>
      )
    }
  },
  { name: "Action", cell: ({ action }) => <code>{action}</code> },
  {
    name: "Subject",
    cell: ({ subject }) => (
      <button
        type="button"
        className="row-link named"
        title="Show what happened to this one"
        onClick={() => choose({ subject })}
      >
        {subject}
      </button>
    )
  },
  { name: "Outcome", cell: (entry) => <Outcome entry={entry} /> },
  {
    name: "Details",
    actions: true,
    cell: (entry) => (
      <Button kind="quiet" label={`Show details of ${entry.action} ${entry.subject}`} onClick={() => open(entry)}>
        Details
      </Button>
    )
  }
]

export const HistoryPage = () => {
  const { change, clear, filters } = useFilters<Filters>("/history")
  const [shown, setShown] = useState<Entry>()
  const [saving, setSaving] = useState(false)
  const history = useHistory(filters)
  const entries = history.data?.pages.flatMap((page) => page.entries) ?? []
  const download = async () => {
    setSaving(true)
    await readCsv(filters).then((file) => save(file, "history.csv"), toastError)
    setSaving(false)
  }
  return (
    <div className="page">
      <div className="page-head">
        <h2>History</h2>
        <CopyRequest path={pathOf(filters)} />
        <Button icon="refresh" busy={history.isRefetching} onClick={() => void history.refetch()}>
          Refresh
        </Button>
        <Button icon="download" busy={saving} disabled={entries.length === 0} onClick={() => void download()}>
          CSV
        </Button>
      </div>
      <p className="lead">
        Who changed what by the dashboard and the management API, and who tried to: also SQL and rows that pages of the
        dashboard wrote, without their values.
      </p>
      <HistoryFilters filters={filters} onChange={change} />
      {history.isLoadingError ? (
        <Problem error={history.error} title="The history could not be read" onRetry={() => void history.refetch()} />
      ) : history.isPending ? (
        <Skeleton lines={[100, 100, 100, 100]} />
      ) : entries.length > 0 ? (
        <>
          <List label="History" columns={columnsOf(change, setShown)} rows={entries} keyOf={({ id }) => id} />
          {history.hasNextPage ? (
            <p className="list-foot">
              <Button busy={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>
                Show more
              </Button>
            </p>
          ) : null}
        </>
      ) : Object.keys(filters).length > 0 ? (
        <Empty icon="filter" title="No entry matches" action={<Button onClick={clear}>Clear filters</Button>}>
          Entries are kept for the days of SVC_AUDIT_DAYS.
        </Empty>
      ) : (
        <Empty icon="history" title="No changes yet">
          When someone creates a key, a webhook or a flag, it is listed here.
        </Empty>
      )}
      {shown === undefined ? null : <EntryDialog entry={shown} onClose={() => setShown(undefined)} />}
    </div>
  )
}
