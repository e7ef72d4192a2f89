import { useState } from "react"
import { type BranchDraft, BranchFields, ttlOf } from "./BranchFields.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"
import type { Backup } from "./queries.ts"

interface RestoreFormProps {
  readonly backup: Backup
  readonly onClose: () => void
  /** `connection`: of the new branch, with its password. */
  readonly onStarted: (connection: string) => void
}

export const RestoreForm = ({ backup, onClose, onStarted }: RestoreFormProps) => {
  const [draft, setDraft] = useState<BranchDraft>({
    label: Array.from(`Restore of ${backup.label}`).slice(0, 60).join(""),
    ttl: "168",
    access: "service_role"
  })
  const problem = draft.label === "" ? "A branch needs a label" : undefined
  const start = async () => {
    const { connection } = await call("POST /api/backups/:id/restore", {
      params: { id: backup.id },
      headers: { prefer: "respond-async" },
      payload: { label: draft.label, access: draft.access, ...ttlOf(draft) }
    })
    onStarted(connection)
  }
  return (
    <FormDialog
      title="Restore into a branch"
      verb="Restore"
      failed="The restore was not started"
      waits
      run={() => (problem === undefined ? start() : undefined)}
      onClose={onClose}
    >
      <p>
        A restore never writes to the main database: it fills a new branch, to look at, to compare, or to copy rows back
        from.
      </p>
      <BranchFields draft={draft} problem={problem} onChange={setDraft} />
    </FormDialog>
  )
}
