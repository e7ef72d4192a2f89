import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Field } from "../ui/Field.tsx"
import { Problem } from "../ui/Problem.tsx"
import { call } from "../wire/call.ts"
import type { Backup } from "./queries.ts"

interface BackupFormProps {
  readonly onClose: () => void
  readonly onStarted: (backup: Backup) => void
}

export const BackupForm = ({ onClose, onStarted }: BackupFormProps) => {
  const [label, setLabel] = useState("")
  const [checked, setChecked] = useState(false)
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const start = async () => {
    setChecked(true)
    if (label === "") return
    setBusy(true)
    setFailure(undefined)
    try {
      onStarted(await call("POST /api/backups/", { payload: { label } }))
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
  return (
    <Dialog label="Start a backup" onClose={onClose}>
      <form
        className="dialog-body"
        onSubmit={(event) => {
          event.preventDefault()
          if (!busy) void start()
        }}
      >
        <h2>Start a backup</h2>
        <Field
          label="Label"
          value={label}
          maxLength={60}
          placeholder="before the sale"
          hint="The database stays usable meanwhile. The file has all rows, regardless of row-level security."
          problem={checked && label === "" ? "A backup needs a label" : undefined}
          onText={setLabel}
        />
        {failure === undefined ? null : (
          <Problem error={failure} title="The backup was not started" onRetry={() => void start()} />
        )}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={busy}>
            Start backup
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
