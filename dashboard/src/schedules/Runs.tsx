import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { count } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { pageSize, type Run, stateOf, useRuns } from "./queries.ts"

const columns: ReadonlyArray<ListColumn<Run>> = [
  {
    name: "Result",
    cell: ({ status }) => {
      const [kind, words] = stateOf(status)
      return <span className={`badge ${kind}`}>{words}</span>
    }
  },
  { name: "Scheduled", cell: ({ scheduled_at }) => <When at={scheduled_at} /> },
  { name: "Began by", cell: ({ cause }) => <span className="soft">{cause === "time" ? "its time" : "request"}</span> },
  {
    name: "Took",
    end: true,
    cell: ({ duration_ms }) => (duration_ms === null ? <span className="faint">–</span> : `${count(duration_ms)} ms`)
  },
  {
    name: "Attempt",
    end: true,
    cell: ({ attempt }) => (attempt > 1 ? <span className="badge warn">try {attempt}</span> : String(attempt))
  },
  {
    name: "Message",
    cell: ({ error, result }) => (
      <code className="cut" title={error ?? result ?? ""}>
        {error ?? result}
      </code>
    )
  }
]

/** The history of a schedule, live while its newest runs are shown. */
export const Runs = ({ schedule }: { schedule: number }) => {
  const [before, setBefore] = useState<number>()
  const runs = useRuns(schedule, before)
  const oldest = runs.data?.length === pageSize ? runs.data.at(-1) : undefined
  return (
    <section>
      <h3>History</h3>
      {runs.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : runs.isLoadingError ? (
        <Problem error={runs.error} title="The history could not be read" onRetry={() => void runs.refetch()} />
      ) : runs.data.length === 0 ? (
        <Empty icon="history" title="No runs">
          A run is listed here when its time comes, or when you press “Run now”.
        </Empty>
      ) : (
        <List label="Runs" columns={columns} rows={runs.data} keyOf={({ id }) => id} />
      )}
      {before === undefined && oldest === undefined ? null : (
        <div className="pager">
          <Button disabled={before === undefined} onClick={() => setBefore(undefined)}>
            Newest
          </Button>
          <Button disabled={oldest === undefined} onClick={() => setBefore(oldest?.id)}>
            Older
          </Button>
        </div>
      )}
    </section>
  )
}
