import { useMemo, useState } from "react"
import type { Table } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"
import { plural } from "../ui/format.ts"
import { Problem } from "../ui/Problem.tsx"
import { copy } from "../ui/toast.ts"
import { ApiError } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import { conflictOf, countEdits, type Edits, reviewSql, saveStatements, sizeProblem } from "./rows/edits.ts"
import { rowId } from "./rows/identity.ts"
import { type Refused, refusedBy } from "./rows/refusals.ts"

interface ReviewProps {
  readonly table: Table
  readonly edits: Edits
  readonly onSaved: () => void
  /** What PostgreSQL has refused, to be marked. */
  readonly onRefused: (refused: Refused) => void
  readonly onClose: () => void
}

/** The changes as SQL, before they are saved in one transaction. What is refused stays as it is. */
export const Review = ({ edits, onClose, onRefused, onSaved, table }: ReviewProps) => {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const statements = useMemo(() => saveStatements(table, edits), [table, edits])
  const tooLarge = useMemo(() => sizeProblem(statements, table), [statements, table])
  const changes = plural(countEdits(edits), "change")
  const save = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      await call("POST /v1/sql/transaction", { payload: { statements } })
      onSaved()
    } catch (error) {
      const conflict = conflictOf((error as Error).message, edits)
      const refusal =
        conflict === undefined && error instanceof ApiError ? await refusedBy(error, table, edits) : undefined
      if (refusal !== undefined) onRefused(refusal.refused)
      setFailure(
        conflict === undefined
          ? (refusal?.error ?? error)
          : new Error(
              `Row ${rowId(table, conflict.row)} was changed or deleted by another user since it was read. Discard the change, or reload the table and decide again.`
            )
      )
      setBusy(false)
    }
  }
  return (
    <Dialog label="Review changes" className="wide" onClose={onClose}>
      <DialogBody
        title={`Save ${changes} to ${table.name}`}
        buttons={
          <>
            <Button icon="copy" onClick={() => void copy(reviewSql(table, edits, true), "SQL")}>
              Copy SQL
            </Button>
            <Button onClick={onClose}>Go on editing</Button>
            <Button kind="main" busy={busy} disabled={tooLarge !== undefined} onClick={() => void save()}>
              Save
            </Button>
          </>
        }
      >
        {tooLarge === undefined ? null : <Problem error={new Error(tooLarge)} title="Too large for one transaction" />}
        <p>One transaction: all of it or nothing, and only if the cells are still as they were read.</p>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls */}
        <pre tabIndex={0} role="region" aria-label="Statements">
          <code>{reviewSql(table, edits, false)}</code>
        </pre>
        {failure === undefined ? null : <Problem error={failure} title="Nothing was saved" />}
      </DialogBody>
    </Dialog>
  )
}
