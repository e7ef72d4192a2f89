import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { nameOf, type Schedule, stateOf, useSchedules } from "./queries.ts"
import { ScheduleForm } from "./ScheduleForm.tsx"

const columns: ReadonlyArray<ListColumn<Schedule>> = [
  {
    name: "Name",
    cell: (schedule) => (
      <Link className="row-link" to="/schedules/$schedule" params={{ schedule: String(schedule.id) }}>
        {nameOf(schedule)}
      </Link>
    )
  },
  {
    name: "State",
    cell: ({ active, problem }) =>
      problem !== null ? (
        <span className="badge bad" title={problem}>
          invalid
        </span>
      ) : (
        <span className={`badge ${active ? "good" : "warn"}`}>{active ? "active" : "paused"}</span>
      )
  },
  {
    name: "Times",
    cell: ({ cron, timezone }) => (
      <span>
        <code>{cron}</code> <span className="soft">{timezone}</span>
      </span>
    )
  },
  {
    name: "Runs",
    cell: ({ role, target }) =>
      target.type === "own" ? (
        <span className="soft">{target.summary}</span>
      ) : target.type === "function" ? (
        <code className="cut">{target.name}</code>
      ) : target.type === "http" ? (
        <code className="cut">{target.url.replace(/^https?:\/\//, "")}</code>
      ) : (
        <span>
          <code className="cut">
            {target.type === "sql" ? target.sql : `${target.schema ?? "public"}.${target.name}`}
          </code>{" "}
          <span className="soft">as {role}</span>
        </span>
      )
  },
  { name: "Next", cell: ({ next_runs }) => <When at={next_runs[0] ?? null} /> },
  {
    name: "Last run",
    cell: ({ last_run }) =>
      last_run === null ? (
        <span className="faint">none</span>
      ) : (
        <span>
          <span className={`badge ${stateOf(last_run.status)[0]}`}>{stateOf(last_run.status)[1]}</span>{" "}
          <span className="soft">
            <When at={last_run.finished_at ?? last_run.scheduled_at} />
          </span>
        </span>
      )
  }
]

export const SchedulesPage = () => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [creating, setCreating] = useState(false)
  const schedules = useSchedules()
  const own = schedules.data?.filter(({ origin }) => origin === "own") ?? []
  const others = schedules.data?.filter(({ origin }) => origin !== "own") ?? []
  const list = (label: string, rows: ReadonlyArray<Schedule>) => (
    <List label={label} columns={columns} rows={rows} keyOf={({ id }) => id} faded={({ active }) => !active} />
  )
  const create = (
    <Button kind="main" icon="plus" onClick={() => setCreating(true)}>
      Create schedule
    </Button>
  )
  return (
    <div className="page">
      <div className="page-head">
        <h2>Schedules</h2>
        <CopyRequest path="/api/schedules" />
        {others.length === 0 ? null : create}
      </div>
      <p className="lead">
        A schedule runs SQL, a function of the database or an HTTP call at given times. Each run is of one process,
        however many there are.
      </p>
      <MainOnly>Schedules run on the main database.</MainOnly>
      {schedules.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : schedules.isLoadingError ? (
        <Problem
          error={schedules.error}
          title="The schedules could not be read"
          onRetry={() => void schedules.refetch()}
        />
      ) : (
        <>
          {others.length === 0 ? (
            <Empty icon="clock" title="No schedules" action={create}>
              Delete what is old every night, send a report every Monday, refresh a view every minute.
            </Empty>
          ) : (
            list("Schedules", others)
          )}
          {own.length === 0 ? null : (
            <section className="part" aria-label="Own jobs of the service">
              <header>
                <h3>The service&apos;s own jobs</h3>
              </header>
              <p className="hint">They follow the settings of the service, and can be run, not changed.</p>
              {list("Own jobs", own)}
            </section>
          )}
        </>
      )}
      {creating ? (
        <ScheduleForm
          schedule={undefined}
          onClose={() => setCreating(false)}
          onSaved={({ id }) => {
            toast("Schedule created")
            void client.invalidateQueries({ queryKey: ["schedules"] })
            void navigate({ to: "/schedules/$schedule", params: { schedule: String(id) } })
          }}
        />
      ) : null}
    </div>
  )
}
