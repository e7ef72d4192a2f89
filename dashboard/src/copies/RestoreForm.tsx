import { useState } from "react"
import { type BranchDraft, BranchFields, ttlOf } from "./BranchFields.tsx"
import { Button } from "../ui/Button.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Problem } from "../ui/Problem.tsx"
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
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const problem = draft.label === "" ? "A branch needs a label" : undefined
  const start = async () => {
    if (problem !== undefined) return
    setBusy(true)
    setFailure(undefined)
    try {
      const { connection } = await call("POST /api/backups/:id/restore", {
        params: { id: backup.id },
        headers: { prefer: "respond-async" },
        payload: { label: draft.label, access: draft.access, ...ttlOf(draft) }
      })
      onStarted(connection)
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
  return (
    <Dialog label="Restore into a branch" onClose={onClose}>
      <form
        className="dialog-body"
        onSubmit={(event) => {
          event.preventDefault()
          if (!busy) void start()
        }}
      >
        <h2>Restore into a branch</h2>
        <p>
          A restore never writes to the main database: it fills a new branch, to look at, to compare, or to copy rows
          back from.
        </p>
        <BranchFields draft={draft} problem={problem} onChange={setDraft} />
        {failure === undefined ? null : <Problem error={failure} title="The restore was not started" />}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={busy}>
            Restore
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
