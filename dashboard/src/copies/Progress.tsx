import type { Backup } from "./queries.ts"

interface ProgressProps {
  readonly of: { readonly status: Backup["status"]; readonly progress: number; readonly error: string | null }
  readonly label: string
}

/** How far a backup or a restore is, or how it ended. */
export const Progress = ({ label, of: { error, progress, status } }: ProgressProps) =>
  status === "in_progress" ? (
    <span className="progress">
      <progress max={100} value={progress} aria-label={label} /> {progress} %
    </span>
  ) : status === "completed" ? (
    <span className="badge good">completed</span>
  ) : (
    <span>
      <span className="badge bad">failed</span> <span className="failed">{error}</span>
    </span>
  )

/** A completed backup that this server can't restore, such as one that another server made. */
export const FileMissing = () => (
  <span className="badge bad" title="Neither SVC_BACKUP_DIR nor a bucket has its file">
    file missing
  </span>
)
