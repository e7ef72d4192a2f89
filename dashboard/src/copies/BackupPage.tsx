import { useQuery } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import { Button } from "../ui/Button.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { type Fact, Facts } from "../ui/page/Facts.tsx"
import { Gone } from "../ui/page/Gone.tsx"
import { bytes, moment } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { Problem } from "../ui/Problem.tsx"
import { When } from "../ui/page/When.tsx"
import { codeOf } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import { goToPlace, place } from "../wire/place.ts"
import { BackupActions } from "./BackupActions.tsx"
import { FileMissing, Progress } from "./Progress.tsx"
import { Verification, VerificationNotes } from "./Verification.tsx"
import { type Backup, type Restore, useBackup } from "./queries.ts"
import { useCrumb } from "../ui/page/crumb.ts"

const factsOf = (backup: Backup): ReadonlyArray<Fact> => [
  ["Status", backup.file_missing ? <FileMissing key="status" /> : <Progress key="status" of={backup} label="Backup" />],
  ["Size", backup.status === "completed" ? bytes(backup.size_bytes) : "–"],
  ["Started", `${moment(backup.created_at)}${backup.scheduled ? ", by the schedule" : ""}`],
  ["Ended", backup.completed_at === null ? "–" : moment(backup.completed_at)],
  ["Made by", backup.strategy === null ? "–" : `${backup.strategy} ${backup.tool_version ?? ""}`],
  ["PostgreSQL", backup.server_version ?? "–"],
  [
    "Format",
    backup.format === null
      ? "–"
      : backup.format === "custom"
        ? "custom: for pg_restore"
        : "plain: SQL, compressed with zstd"
  ],
  [
    "Copy",
    backup.copy_error !== null ? (
      <span key="copy" className="failed">
        {backup.copy_error}
      </span>
    ) : backup.bucket === null ? (
      "none: SVC_BACKUP_BUCKET names a bucket for copies"
    ) : (
      <code key="copy">
        {backup.bucket}/{backup.object_key}
      </code>
    )
  ],
  ["Verified", <Verification key="verified" of={backup} />],
  ["SHA-256", backup.sha256 === null ? "–" : <code key="digest">{backup.sha256}</code>]
]

const columnsOf = (
  labels: ReadonlyMap<number, string>,
  work: (id: number) => void
): ReadonlyArray<ListColumn<Restore>> => [
  { name: "Started", cell: ({ started_at }) => <When at={started_at} /> },
  { name: "Status", cell: (restore) => <Progress of={restore} label="Restore" /> },
  {
    name: "Branch",
    cell: ({ branch_id, status }) =>
      branch_id === null ? (
        <span className="faint">dropped</span>
      ) : (
        <span>{labels.get(branch_id) ?? (status === "in_progress" ? "being filled" : `branch ${branch_id}`)}</span>
      )
  },
  {
    name: "Actions",
    actions: true,
    cell: ({ branch_id }) => {
      const label = branch_id === null ? undefined : labels.get(branch_id)
      return branch_id === null || label === undefined ? null : (
        <Button onClick={() => work(branch_id)}>Work on it</Button>
      )
    }
  }
]

const Details = ({ backup }: { backup: Backup }) => {
  const done = backup.restores.filter(({ status }) => status === "completed").length
  // Reloads when another restore is done: its branch is then in the list.
  const branches = useQuery({
    queryKey: ["branches", "after", done],
    queryFn: ({ signal }) => call("GET /api/branches/", { signal }),
    enabled: backup.restores.length > 0
  })
  const labels = new Map((branches.data ?? []).map(({ id, label }) => [id as number, label]))
  const work = (id: number) => goToPlace({ ...place.here, branch: String(id) })
  return (
    <div className="page">
      <div className="page-head">
        <h2>{backup.label}</h2>
        <CopyRequest path={`/api/backups/${backup.id}`} />
        {backup.status === "completed" ? (
          <a
            className="button quiet"
            href={`/api/backups/${backup.id}/globals`}
            download={`backup-${backup.id}.globals.sql`}
          >
            Roles and settings
          </a>
        ) : null}
        <BackupActions backup={backup} />
      </div>
      <MainOnly>Backups are always of the main database.</MainOnly>
      <VerificationNotes of={backup} />
      <Facts facts={factsOf(backup)} />
      <section className="part" aria-label="Restores">
        <header>
          <h3>Restores</h3>
        </header>
        {backup.restores.length === 0 ? (
          <p className="soft">
            {backup.status === "completed"
              ? backup.verification === null
                ? "Not restored yet. A restore into a branch is also the proof that the backup is good."
                : "Not restored yet."
              : "Only a completed backup can be restored."}
          </p>
        ) : (
          <List
            label="Restores"
            columns={columnsOf(labels, work)}
            rows={backup.restores}
            keyOf={({ started_at }) => started_at}
          />
        )}
      </section>
    </div>
  )
}

const NoBackup = () => (
  <Gone icon="backup" title="No such backup">
    <Link className="button" to="/backups">
      All backups
    </Link>
  </Gone>
)

const Existing = ({ id }: { id: number }) => {
  const backup = useBackup(id)
  useCrumb(id, backup.data?.label)
  if (codeOf(backup.error) === "BACKUP_NOT_FOUND") return <NoBackup />
  if (backup.data !== undefined) return <Details backup={backup.data} />
  return (
    <div className="page">
      {backup.isError ? (
        <Problem error={backup.error} title="The backup could not be read" onRetry={() => void backup.refetch()} />
      ) : (
        <Skeleton lines={[40, 100, 100]} />
      )}
    </div>
  )
}

export const BackupPage = () => {
  const params = useParams({ strict: false }) as { readonly backup?: string }
  const id = /^[1-9]\d{0,9}$/.test(params.backup ?? "") ? Number(params.backup) : undefined
  return id === undefined || id > 2_147_483_647 ? <NoBackup /> : <Existing key={id} id={id} />
}
