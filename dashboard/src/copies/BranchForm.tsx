import { useState } from "react"
import { BranchFields, ttlOf } from "./BranchFields.tsx"
import { ago } from "../ui/format.ts"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"
import type { Branch } from "./queries.ts"

interface BranchFormProps {
  /** Undefined: a new one. */
  readonly branch: Branch | undefined
  readonly onClose: () => void
  readonly onSaved: (branch: Branch) => void
}

export const BranchForm = ({ branch, onClose, onSaved }: BranchFormProps) => {
  const [draft, setDraft] = useState({
    label: branch?.label ?? "",
    ttl: branch === undefined ? "24" : "keep",
    access: branch?.access ?? ("service_role" as const)
  })
  const [checked, setChecked] = useState(false)
  const problem = draft.label === "" ? "A branch needs a label" : undefined
  const save = async () => {
    const payload = { label: draft.label, access: draft.access, ...ttlOf(draft) }
    onSaved(
      branch === undefined
        ? await call("POST /api/branches/", { headers: { prefer: "respond-async" }, payload })
        : await call("PATCH /api/branches/:id", { params: { id: branch.id }, payload })
    )
  }
  const expires = branch === undefined ? undefined : branch.expires_at === null ? "never" : ago(branch.expires_at)
  return (
    <FormDialog
      title={branch === undefined ? "Create a branch" : "Change the branch"}
      verb={branch === undefined ? "Create branch" : "Save"}
      failed={branch === undefined ? "The branch was not created" : "The branch was not changed"}
      waits
      run={() => {
        setChecked(true)
        return problem === undefined ? save() : undefined
      }}
      onClose={onClose}
    >
      <BranchFields draft={draft} expires={expires} problem={checked ? problem : undefined} onChange={setDraft} />
    </FormDialog>
  )
}
