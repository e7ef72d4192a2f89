import "./migrations.css"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { plural } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { isRunnable, type Migration, type Status, useStatus } from "./queries.ts"
import { RunForm } from "./RunForm.tsx"
import { meanings, State } from "./State.tsx"

const columns: ReadonlyArray<ListColumn<Migration>> = [
  {
    name: "Migration",
    cell: ({ name, status }) =>
      status === "orphaned" ? (
        <span className="named">{name}</span>
      ) : (
        <Link className="row-link" to="/migrations/$name" params={{ name }} search={{}}>
          {name}
        </Link>
      )
  },
  { name: "Status", cell: (migration) => <State status={migration.status} /> },
  {
    name: "Applied",
    cell: ({ applied_at, status }) =>
      status === "pending" ? <span className="faint">–</span> : <When at={applied_at} none="the history has no time" />
  },
  {
    name: "Problem",
    cell: ({ problem, status }) =>
      problem !== null ? (
        <span className="failed">{problem}</span>
      ) : status === "modified" || status === "orphaned" ? (
        <span className="soft">{meanings[status]}</span>
      ) : null
  }
]

/** "2 applied, 1 pending" */
const countsOf = (summary: Status["summary"]) =>
  (["applied", "pending", "modified", "orphaned"] as const)
    .filter((state) => summary[state] > 0)
    .map((state) => `${summary[state]} ${state}`)
    .join(", ")

/** What stops every run, if something does. */
const Obstacle = ({ status }: { status: Status }) => {
  const { modified } = status.summary
  const failed = status.migrations.filter(({ unfinished }) => unfinished)
  if (!isRunnable(status)) {
    return (
      <p className="note">
        The database has the history of {status.tool}, which the service shows but does not write: run migrations with{" "}
        {status.tool}.
      </p>
    )
  }
  if (failed.length > 0) {
    return (
      <p className="note">
        {plural(failed.length, "migration")} did not finish. Look at what the database has of{" "}
        {failed.length === 1 ? "it" : "each"}, and say on its page how it ended
        {status.tool === "prisma" ? ": nothing runs before" : ""}.
      </p>
    )
  }
  return modified === 0 ? null : (
    <p className="note">
      {plural(modified, "applied migration")} {modified === 1 ? "has" : "have"} changed since. No migration runs until{" "}
      {modified === 1 ? "its file is" : "their files are"} as before: write what is new into another file.
    </p>
  )
}

const Details = ({ status }: { status: Status }) => {
  const { summary } = status
  return (
    <>
      <Obstacle status={status} />
      {status.notes.length === 0 ? null : (
        <ul className="note migration-notes">
          {status.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <Facts
        facts={[
          ["Files", summary.total === 0 ? "none" : countsOf(summary)],
          ["Directory", <code key="directory">{status.directory}</code>],
          ["History", <code key="history">{status.table}</code>],
          ["Tool", status.tool ?? "none: the service's own history"]
        ]}
      />
      {status.migrations.length === 0 ? null : (
        <section className="part" aria-label="Files">
          <List label="Migrations" columns={columns} rows={status.migrations} keyOf={({ name }) => name} />
        </section>
      )}
    </>
  )
}

export const MigrationsPage = () => {
  const status = useStatus()
  const [running, setRunning] = useState<ReadonlyArray<string>>()
  const pending = (status.data?.migrations ?? []).filter((one) => one.status === "pending").map(({ name }) => name)
  const none = status.data !== undefined && status.data.summary.total === 0 && isRunnable(status.data)
  const runnable = status.data !== undefined && isRunnable(status.data) && status.data.summary.modified === 0
  return (
    <div className="page">
      <div className="page-head">
        <h2>Migrations</h2>
        <CopyRequest path="/api/migrations/idempotent/status" />
        {none ? null : <Button icon="refresh" label="Reload" kind="quiet" onClick={() => void status.refetch()} />}
        {runnable && pending.length > 0 ? (
          <Button kind="main" icon="play" onClick={() => setRunning(pending)}>
            Run {pending.length} pending
          </Button>
        ) : null}
      </div>
      <p className="lead">
        SQL files that change the database once each, in order. A history in the database says which were applied; that
        of Drizzle, Prisma or Supabase is used if there is one.
      </p>
      <MainOnly>Migrations run on the main database. To try them on the branch, connect their tool to it.</MainOnly>
      {status.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : status.isLoadingError ? (
        <Problem error={status.error} title="The migrations could not be read" onRetry={() => void status.refetch()} />
      ) : none ? (
        <Empty
          icon="migration"
          title="No migrations"
          action={
            <Button icon="refresh" busy={status.isFetching} onClick={() => void status.refetch()}>
              Reload
            </Button>
          }
        >
          Write SQL files such as <code>0001_orders.sql</code> into <code>{status.data.directory}</code> (
          <code>MIGRATIONS_DIR</code>), and reload this page.
        </Empty>
      ) : (
        <Details status={status.data} />
      )}
      {running === undefined ? null : <RunForm pending={running} onClose={() => setRunning(undefined)} />}
    </div>
  )
}
