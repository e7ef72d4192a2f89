import "./insights.css"
import { useQuery } from "@tanstack/react-query"
import { Button } from "../ui/Button.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { SqlActions } from "../ui/page/SqlActions.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { call } from "../wire/call.ts"
import { Findings } from "./Findings.tsx"
import { byKind, type Check, kinds, type Report } from "./kinds.ts"

const Unavailable = ({ checks }: { checks: ReadonlyArray<Check> }) =>
  checks.length === 0 ? null : (
    <section className="part insights" aria-label="Not checked">
      <header>
        <h3>Not checked</h3>
      </header>
      <ul>
        {checks.map(({ fix, kind, reason }) => (
          <li key={kind} aria-label={kinds[kind][0]}>
            <h4>{kinds[kind][0]}</h4>
            <p>{reason}</p>
            {fix === null ? null : (
              <>
                <pre>{fix}</pre>
                <div className="insight-actions">
                  <SqlActions name={kinds[kind][0]} sql={fix} />
                </div>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  )

const Body = ({ report: { checked_at, checks, database, findings } }: { report: Report }) => {
  const truncated = new Set(checks.filter((check) => check.truncated).map(({ kind }) => kind))
  const unavailable = checks.filter(({ status }) => status === "unavailable")
  const hits = database.cache_hit_ratio
  return (
    <>
      <Facts
        facts={[
          ["Database", <code key="name">{database.name}</code>],
          ["Checked", <When key="checked" at={checked_at} />],
          ["Blocks found in memory", hits === null ? "–" : `${(100 * hits).toFixed(1)}%`],
          ["Statistics since", <When key="since" at={database.statistics_since} none="the database began" />]
        ]}
      />
      {findings.length > 0 ? (
        Array.from(byKind(findings), ([kind, found]) => (
          <Findings key={kind} kind={kind} findings={found} truncated={truncated.has(kind)} />
        ))
      ) : (
        <Empty icon="check" title="All is well">
          {checks.length - unavailable.length} checks of access, indexes, statements and upkeep found nothing to mend.
        </Empty>
      )}
      <Unavailable checks={unavailable} />
    </>
  )
}

export const InsightsPage = () => {
  const report = useQuery({
    queryKey: ["insights"],
    queryFn: ({ signal }) => call("GET /api/insights", { signal }),
    staleTime: 60_000
  })
  return (
    <div className="page">
      <div className="page-head">
        <h2>Insights</h2>
        <CopyRequest path="/api/insights" />
        <Button icon="refresh" busy={report.isFetching} onClick={() => void report.refetch()}>
          Check again
        </Button>
      </div>
      <MainOnly>Insights are about the main database.</MainOnly>
      {report.isPending ? (
        <Skeleton lines={[60, 100, 100, 100]} />
      ) : report.data === undefined ? (
        <Problem error={report.error} title="The database could not be checked" onRetry={() => void report.refetch()} />
      ) : (
        <Body report={report.data} />
      )}
    </div>
  )
}
