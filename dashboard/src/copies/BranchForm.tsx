import { useEffect, useState } from "react"
import { BranchFields, ttlOf } from "./BranchFields.tsx"
import { Button } from "../ui/Button.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { ago, plural } from "../ui/format.ts"
import { Problem } from "../ui/Problem.tsx"
import { call } from "../wire/call.ts"
import type { Branch } from "./queries.ts"

interface BranchFormProps {
  /** Undefined: a new one. */
  readonly branch: Branch | undefined
  readonly onClose: () => void
  readonly onSaved: (branch: Branch) => void
}

/** How long it has been going on: a large database takes minutes. */
const Copying = () => {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    const begun = Date.now()
    const timer = setInterval(() => setSeconds(Math.round((Date.now() - begun) / 1000)), 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <p role="status">
      Copying the database{seconds < 2 ? "…" : `: ${plural(seconds, "second")} so far.`} Requests to the main database
      wait meanwhile. Keep this open: the password of the branch is shown only once.
    </p>
  )
}

export const BranchForm = ({ branch, onClose, onSaved }: BranchFormProps) => {
  const [draft, setDraft] = useState({
    label: branch?.label ?? "",
    ttl: branch === undefined ? "24" : "keep",
    access: branch?.access ?? ("service_role" as const)
  })
  const [checked, setChecked] = useState(false)
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const problem = draft.label === "" ? "A branch needs a label" : undefined
  const save = async () => {
    setChecked(true)
    if (problem !== undefined) return
    setBusy(true)
    setFailure(undefined)
    const payload = { label: draft.label, access: draft.access, ...ttlOf(draft) }
    try {
      onSaved(
        branch === undefined
          ? await call("POST /api/branches/", { payload })
          : await call("PATCH /api/branches/:id", { params: { id: branch.id }, payload })
      )
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
  const title = branch === undefined ? "Create a branch" : "Change the branch"
  const expires = branch === undefined ? undefined : branch.expires_at === null ? "never" : ago(branch.expires_at)
  return (
    <Dialog label={title} {...(busy ? {} : { onClose })}>
      <form
        className="dialog-body"
        onSubmit={(event) => {
          event.preventDefault()
          if (!busy) void save()
        }}
      >
        <h2>{title}</h2>
        <BranchFields draft={draft} expires={expires} problem={checked ? problem : undefined} onChange={setDraft} />
        {busy && branch === undefined ? <Copying /> : null}
        {failure === undefined ? null : (
          <Problem
            error={failure}
            title={branch === undefined ? "The branch was not created" : "The branch was not changed"}
          />
        )}
        <footer>
          <Button disabled={busy} onClick={onClose}>
            Cancel
          </Button>
          <Button kind="main" type="submit" busy={busy}>
            {branch === undefined ? "Create branch" : "Save"}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
