import "./requests.css"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { count } from "../ui/format.ts"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { Problem } from "../ui/Problem.tsx"
import { Chart } from "./Chart.tsx"
import { milliseconds } from "./chart.ts"
import { useFilters } from "../ui/page/useFilters.ts"
import { FilterBar } from "./Filters.tsx"
import { RequestList, RouteList } from "./Lists.tsx"
import { type Counts, type Filters, pathOf, useCounts, useRequests } from "./queries.ts"

const Hour = ({ counts: { minutes, processes } }: { counts: Counts }) => {
  const sum = (of: "requests" | "refused" | "errors") => minutes.reduce((all, minute) => all + minute[of], 0)
  const slowest = minutes.reduce<number | null>(
    (most, { p95 }) => (p95 === null ? most : Math.max(most ?? 0, p95)),
    null
  )
  return (
    <section className="part" aria-label="The last hour">
      <header>
        <h3>The last hour</h3>
        {processes > 1 ? <span className="badge">{processes} workers</span> : null}
      </header>
      <Facts
        facts={[
          ["Requests", count(sum("requests"))],
          ["Refused", count(sum("refused"))],
          ["Errors", count(sum("errors"))],
          ["Worst p95 of a minute", milliseconds(slowest)]
        ]}
      />
      <Chart minutes={minutes} />
    </section>
  )
}

export const RequestsPage = () => {
  const { change, clear, filters } = useFilters<Filters>("/requests")
  const [live, setLive] = useState(true)
  const requests = useRequests(filters, live)
  const counts = useCounts(filters, live)
  const filtered = Object.keys(filters).some((name) => name !== "dashboard")
  return (
    <div className="page">
      <div className="page-head">
        <h2>Requests</h2>
        <CopyRequest path={pathOf(filters)} />
        <Button icon={live ? "stop" : "play"} onClick={() => setLive(!live)}>
          {live ? "Pause" : "Resume"}
        </Button>
      </div>
      <p className="lead">
        What the service has answered, in this hour and since it started: the latest 1,000 requests and the latest 500
        that failed or were slow. Queries, headers and bodies are not kept.
      </p>
      <FilterBar filters={filters} onChange={change} />
      {counts.data === undefined ? null : <Hour counts={counts.data} />}
      {requests.isLoadingError ? (
        <Problem
          error={requests.error}
          title="The requests could not be read"
          onRetry={() => void Promise.all([requests.refetch(), counts.refetch()])}
        />
      ) : requests.data === undefined ? (
        <Skeleton lines={[100, 100, 100, 100]} />
      ) : requests.data.requests.length > 0 ? (
        <RequestList requests={requests.data.requests} />
      ) : filtered ? (
        <Empty icon="filter" title="No request matches" action={<Button onClick={clear}>Clear filters</Button>}>
          Only the latest requests are kept.
        </Empty>
      ) : (
        <Empty
          icon="requests"
          title="No requests yet"
          action={<Button onClick={() => change({ dashboard: "true" })}>Show those of the dashboard</Button>}
        >
          Requests of apps and servers appear here as they arrive.
        </Empty>
      )}
      {counts.data === undefined || counts.data.routes.length === 0 ? null : (
        <section className="part" aria-label="Routes of the last hour">
          <header>
            <h3>Routes of the last hour</h3>
          </header>
          <RouteList
            routes={counts.data.routes}
            onChoose={({ method, route }) => change({ method, route: route ?? undefined })}
          />
        </section>
      )}
    </div>
  )
}
