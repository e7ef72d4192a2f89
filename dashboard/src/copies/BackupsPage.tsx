import { useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { Field } from "../ui/Field.tsx"
import { bytes, moment } from "../ui/format.ts"
import { FormDialog } from "../ui/FormDialog.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { When } from "../ui/page/When.tsx"
import { call } from "../wire/call.ts"
import { BackupActions } from "./BackupActions.tsx"
import { FileMissing, Progress } from "./Progress.tsx"
import { Verification } from "./Verification.tsx"
import { type Backup, useBackups } from "./queries.ts"

const columns: ReadonlyArray<ListColumn<Backup>> = [
  {
    name: "Label",
    cell: ({ id, label, scheduled }) => (
      <span>
        <Link className="row-link" to="/backups/$backup" params={{ backup: String(id) }}>
          {label}
        </Link>{" "}
        {scheduled ? <span className="badge">scheduled</span> : null}
      </span>
    )
  },
  {
    name: "Status",
    cell: (backup) =>
      backup.file_missing ? <FileMissing /> : <Progress of={backup} label={`Backup ${backup.label}`} />
  },
  {
    name: "Size",
    end: true,
    cell: ({ size_bytes, status }) =>
      status === "completed" ? <span className="cut">{bytes(size_bytes)}</span> : <span className="faint">–</span>
  },
  { name: "Verified", cell: (backup) => <Verification of={backup} short /> },
  {
    name: "Started",
    cell: ({ created_at }) => (
      <span className="cut">
        <When at={created_at} />
      </span>
    )
  },
  {
    name: "Copy",
    cell: ({ bucket, copy_error }) =>
      copy_error !== null ? (
        <span className="badge warn" title={copy_error}>
          not copied
        </span>
      ) : bucket === null ? (
        <span className="faint">none</span>
      ) : (
        <code>{bucket}</code>
      )
  },
  {
    name: "Restores",
    end: true,
    cell: ({ restores }) => (restores.length === 0 ? <span className="faint">0</span> : String(restores.length))
  },
  { name: "Actions", actions: true, cell: (backup) => <BackupActions backup={backup} /> }
]

interface BackupFormProps {
  readonly onClose: () => void
  readonly onStarted: (backup: Backup) => void
}

const BackupForm = ({ onClose, onStarted }: BackupFormProps) => {
  // Most need no other name than their time.
  const [label, setLabel] = useState(() => `Backup of ${moment(new Date().toISOString())}`)
  const [checked, setChecked] = useState(false)
  const start = async () => onStarted(await call("POST /api/backups/", { payload: { label } }))
  return (
    <FormDialog
      title="Start a backup"
      verb="Start backup"
      failed="The backup was not started"
      run={() => {
        setChecked(true)
        return label === "" ? undefined : start()
      }}
      onClose={onClose}
    >
      <Field
        label="Label"
        value={label}
        maxLength={100}
        placeholder="before the sale"
        hint="The database stays usable meanwhile. The file has all rows, regardless of row-level security."
        problem={checked && label === "" ? "A backup needs a label" : undefined}
        onText={setLabel}
      />
    </FormDialog>
  )
}

export const BackupsPage = () => {
  const client = useQueryClient()
  const backups = useBackups()
  const [starting, setStarting] = useState(false)
  const start = (
    <Button kind="main" icon="plus" onClick={() => setStarting(true)}>
      Start backup
    </Button>
  )
  const empty = backups.data?.length === 0
  return (
    <div className="page">
      <div className="page-head">
        <h2>Backups</h2>
        <CopyRequest path="/api/backups" />
        {empty ? null : start}
      </div>
      <p className="lead">
        A backup is a dump of the whole database in a file, taken while clients keep working, and restored into a new
        branch. It has the state of one moment; <Link to="/protection">Protection</Link> is about all others.
      </p>
      <MainOnly>Backups are always of the main database.</MainOnly>
      {backups.isPending ? (
        <Skeleton lines={[100, 100]} />
      ) : backups.isLoadingError ? (
        <Problem error={backups.error} title="The backups could not be read" onRetry={() => void backups.refetch()} />
      ) : empty ? (
        <Empty icon="backup" title="No backups" action={start}>
          Start one before a risky change. <code>SVC_BACKUP_CRON</code> makes them every night.
        </Empty>
      ) : (
        <List label="Backups" columns={columns} rows={backups.data} keyOf={({ id }) => id} />
      )}
      {starting ? (
        <BackupForm
          onClose={() => setStarting(false)}
          onStarted={() => {
            toast("Backup started")
            setStarting(false)
            void client.invalidateQueries({ queryKey: ["backups"] })
          }}
        />
      ) : null}
    </div>
  )
}
