import "./migrations.css"
import { useQuery } from "@tanstack/react-query"
import { Link, useParams, useSearch } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { moment } from "../ui/format.ts"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { Gone } from "../ui/page/Gone.tsx"
import { Problem } from "../ui/Problem.tsx"
import { copy } from "../ui/toast.ts"
import { codeOf } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import { pathOf } from "../wire/path.ts"
import { BaselineForm, ResolveForm } from "./MarkForms.tsx"
import { isRunnable, type Migration, pendingThrough, type Status, useStatus } from "./queries.ts"
import { meanings, State } from "./State.tsx"

/** Lines that are shown at most: a file may have 16 MiB. */
const most = 2000

const factsOf = ({ applied_at, applied_checksum, checksum, status }: Migration) => [
  ["Status", <State key="status" status={status} />] as const,
  ["Means", meanings[status]] as const,
  ...(status === "pending"
    ? []
    : [["Applied", applied_at === null ? "at an unknown time" : moment(applied_at)] as const]),
  ["SHA-256 of the file", <code key="file">{checksum ?? "–"}</code>] as const,
  ...(status === "modified"
    ? [["SHA-256 of what was applied", <code key="applied">{applied_checksum ?? "–"}</code>] as const]
    : [])
]

/** The file with its line numbers. The marked line is scrolled to. */
const Source = ({ line, sql }: { line: number; sql: string }) => {
  const marked = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    marked.current?.scrollIntoView({ block: "center" })
  }, [line, sql])
  const lines = sql.replace(/\r?\n$/, "").split("\n")
  return (
    <>
      {/* A region that scrolls must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className="code migration-source" tabIndex={0} aria-label="SQL">
        {lines.slice(0, most).map((text, at) => (
          <span key={at} ref={at + 1 === line ? marked : null} className={at + 1 === line ? "marked" : ""}>
            {at + 1 === line ? <span className="sr">The failed statement: </span> : null}
            {text}
            {"\n"}
          </span>
        ))}
      </pre>
      {lines.length > most ? (
        <p className="hint">
          The first {most} of {lines.length} lines. “Copy SQL” copies all.
        </p>
      ) : null}
    </>
  )
}

type Mark = "baseline" | "applied" | "rolled_back"

/** What a person can say about a migration that did not finish, or that the database has without a run. */
const Marks = ({ migration, status }: { migration: Migration; status: Status }) => {
  const [mark, setMark] = useState<Mark>()
  const close = () => setMark(undefined)
  if (!isRunnable(status)) return null
  const { name, unfinished } = migration
  return (
    <>
      {unfinished ? (
        <p className="migration-marks">
          <Button onClick={() => setMark("applied")}>Mark as applied</Button>
          <Button onClick={() => setMark("rolled_back")}>Mark as rolled back</Button>
        </p>
      ) : migration.status === "pending" ? (
        <p className="migration-marks">
          <Button onClick={() => setMark("baseline")}>The database has it already</Button>
        </p>
      ) : null}
      {mark === undefined ? null : mark === "baseline" ? (
        <BaselineForm names={pendingThrough(status, name)} onClose={close} />
      ) : (
        <ResolveForm name={name} as={mark} onClose={close} />
      )}
    </>
  )
}

const Existing = ({ name }: { name: string }) => {
  const { line = "" } = useSearch({ strict: false }) as { readonly line?: string }
  const status = useStatus()
  const migration = status.data?.migrations.find((one) => one.name === name)
  const text = useQuery({
    queryKey: ["migrations", "text", name],
    queryFn: ({ signal }) =>
      call("GET /api/migrations/preview/:migration_name", { params: { migration_name: name }, signal })
  })
  if (migration === undefined && !status.isPending && codeOf(text.error) === "MIGRATION_NOT_FOUND") {
    return (
      <Gone icon="migration" title="No such migration">
        <Link className="button" to="/migrations">
          All migrations
        </Link>
      </Gone>
    )
  }
  return (
    <div className="page">
      <div className="page-head">
        <h2>{name}</h2>
        <CopyRequest path={pathOf("/api/migrations/preview/:migration_name", { params: { migration_name: name } })} />
        <Link className="button" to="/migrations">
          All migrations
        </Link>
        {text.data === undefined ? null : (
          <Button icon="copy" onClick={() => void copy(text.data.sql, "SQL")}>
            Copy SQL
          </Button>
        )}
      </div>
      {migration?.problem == null ? null : <p className="note">{migration.problem}</p>}
      {migration === undefined || status.data === undefined ? null : (
        <Marks migration={migration} status={status.data} />
      )}
      {migration === undefined ? null : <Facts facts={factsOf(migration)} />}
      <section className="part" aria-label="File">
        {text.isPending ? (
          <Skeleton lines={[40, 100, 100]} />
        ) : text.isLoadingError ? (
          <Problem error={text.error} title="The file could not be read" onRetry={() => void text.refetch()} />
        ) : (
          <Source sql={text.data.sql} line={/^[1-9]\d{0,6}$/.test(line) ? Number(line) : 0} />
        )}
      </section>
    </div>
  )
}

export const MigrationPage = () => {
  const { name = "" } = useParams({ strict: false }) as { readonly name?: string }
  return <Existing key={name} name={name} />
}
