import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate, useParams } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { moment } from "../ui/format.ts"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { Gone } from "../ui/page/Gone.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast, toastError } from "../ui/toast.ts"
import { codeOf } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import { nameOf, type Schedule, useSchedule } from "./queries.ts"
import { Runs } from "./Runs.tsx"
import { ScheduleForm } from "./ScheduleForm.tsx"
import { useCrumb } from "../ui/page/crumb.ts"

const NoSchedule = () => (
  <Gone icon="clock" title="No such schedule">
    <Link className="button" to="/schedules">
      All schedules
    </Link>
  </Gone>
)

const whatRuns = ({ target }: Schedule) => {
  switch (target.type) {
    case "own":
      return target.summary
    case "http":
      return <code>POST {target.url}</code>
    case "sql":
      return <code>{target.sql}</code>
    case "function":
      return <code>{target.name}</code>
    case "stored_function":
      return (
        <code>
          {target.schema ?? "public"}.{target.name}({JSON.stringify(target.args ?? {})})
        </code>
      )
  }
}

const factsOf = (schedule: Schedule) =>
  [
    ["Runs", <span key="runs">{whatRuns(schedule)}</span>],
    [
      "Times",
      <span key="times">
        <code>{schedule.cron}</code> {schedule.timezone}
      </span>
    ],
    ["Next times", schedule.next_runs.length === 0 ? "none" : schedule.next_runs.map(moment).join("; ")],
    ...(schedule.target.type === "sql" || schedule.target.type === "stored_function"
      ? [["As the role", <code key="role">{schedule.role}</code>] as const]
      : []),
    ["While the previous run goes on", schedule.overlap],
    ["Times that were missed", schedule.catch_up],
    ["Timeout", `${schedule.timeout} s`],
    ["Retries", String(schedule.retries)],
    ["Created", <When key="created" at={schedule.created_at} />]
  ] as const

const Details = ({ schedule }: { schedule: Schedule }) => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [open, setOpen] = useState<"form" | "delete">()
  const [busy, setBusy] = useState<"run" | "active">()
  const { active, id, origin, problem } = schedule
  const read = () => client.invalidateQueries({ queryKey: ["schedules"] })
  const during = async (what: "run" | "active", action: () => Promise<unknown>, done: string) => {
    setBusy(what)
    await action().then(() => toast(done), toastError)
    await read()
    setBusy(undefined)
  }
  return (
    <div className="page">
      <div className="page-head">
        <h2>{nameOf(schedule)}</h2>
        <span className={`badge ${active ? "good" : "warn"}`}>{active ? "active" : "paused"}</span>
        {origin === "own" ? <span className="badge">the service&apos;s own</span> : null}
        <CopyRequest path={`/api/schedules/${id}/runs`} />
        {origin === "own" ? null : (
          <>
            <Button kind="danger" onClick={() => setOpen("delete")}>
              Delete
            </Button>
            <Button
              busy={busy === "active"}
              onClick={() =>
                void during(
                  "active",
                  () => call("PATCH /api/schedules/:id", { params: { id }, payload: { active: !active } }),
                  active ? "Schedule paused" : "Schedule resumed"
                )
              }
            >
              {active ? "Pause" : "Resume"}
            </Button>
            <Button onClick={() => setOpen("form")}>Edit</Button>
          </>
        )}
        <Button
          kind="main"
          icon="play"
          busy={busy === "run"}
          onClick={() =>
            void during(
              "run",
              () => call("POST /api/schedules/:id/run", { params: { id } }),
              "The run has been requested"
            )
          }
        >
          Run now
        </Button>
      </div>
      <MainOnly>Schedules run on the main database.</MainOnly>
      {problem === null ? null : <p className="note">{problem}</p>}
      <Facts facts={factsOf(schedule)} />
      <Runs schedule={id} />
      {open === "form" ? (
        <ScheduleForm
          schedule={schedule}
          onClose={() => setOpen(undefined)}
          onSaved={() => {
            toast("Schedule changed")
            void read()
            setOpen(undefined)
          }}
        />
      ) : null}
      {open === "delete" ? (
        <Confirm
          title={`Delete ${nameOf(schedule)}?`}
          verb="Delete schedule"
          name={schedule.name ?? undefined}
          onClose={() => setOpen(undefined)}
          run={async () => {
            await call("DELETE /api/schedules/:id", { params: { id } })
            toast("Schedule deleted")
            await navigate({ to: "/schedules" })
            client.removeQueries({ queryKey: ["schedules", id] })
            await client.invalidateQueries({ queryKey: ["schedules"], exact: true })
          }}
        >
          <p>Its history goes with it, and a run in progress ends. This can&apos;t be undone.</p>
        </Confirm>
      ) : null}
    </div>
  )
}

export const SchedulePage = () => {
  const params = useParams({ strict: false }) as { readonly schedule?: string }
  const valid = /^[1-9]\d{0,9}$/.test(params.schedule ?? "")
  return valid ? <Existing key={params.schedule} id={Number(params.schedule)} /> : <NoSchedule />
}

const Existing = ({ id }: { id: number }) => {
  const schedule = useSchedule(id)
  useCrumb(id, schedule.data === undefined ? undefined : nameOf(schedule.data))
  if (codeOf(schedule.error) === "SCHEDULE_NOT_FOUND") return <NoSchedule />
  if (schedule.data !== undefined) return <Details schedule={schedule.data} />
  return (
    <div className="page">
      {schedule.isError ? (
        <Problem
          error={schedule.error}
          title="The schedule could not be read"
          onRetry={() => void schedule.refetch()}
        />
      ) : (
        <Skeleton lines={[40, 100, 100]} />
      )}
    </div>
  )
}
