import { useState } from "react"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"
import type { Backup } from "./queries.ts"

interface BackupFormProps {
  readonly onClose: () => void
  readonly onStarted: (backup: Backup) => void
}

export const BackupForm = ({ onClose, onStarted }: BackupFormProps) => {
  const [label, setLabel] = useState("")
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
        maxLength={60}
        placeholder="before the sale"
        hint="The database stays usable meanwhile. The file has all rows, regardless of row-level security."
        problem={checked && label === "" ? "A backup needs a label" : undefined}
        onText={setLabel}
      />
    </FormDialog>
  )
}
