import { useLayoutEffect, useMemo, useRef, useState } from "react"
import type { Catalogue, Table } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"
import { plural } from "../ui/format.ts"
import { isMod, mod } from "../ui/keys.ts"
import { Problem } from "../ui/Problem.tsx"
import { copy } from "../ui/toast.ts"
import { ApiError } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import { countEdits, countWrong, type Edits, savableOf } from "./rows/edits.ts"
import { cascadesOf } from "./DeleteRows.tsx"
import { conflictOf, reviewSql, saveStatements, sizeProblem } from "./rows/statements.ts"
import { rowId } from "./rows/identity.ts"
import { type Refused, refusedBy } from "./rows/refusals.ts"

interface ReviewProps {
  readonly catalogue: Catalogue
  readonly table: Table
  readonly edits: Edits
  readonly onSaved: () => void
  /** What PostgreSQL has refused, to be marked. */
  readonly onRefused: (refused: Refused) => void
  /** Another user has changed what was to be saved. */
  readonly onConflict: () => void
  readonly onClose: () => void
}

/** The changes as SQL, before they are saved in one transaction. What is refused stays as it is. */
export const Review = ({ catalogue, edits: all, onClose, onConflict, onRefused, onSaved, table }: ReviewProps) => {
  const edits = useMemo(() => savableOf(all, table), [all, table])
  const left = countEdits(all) - countEdits(edits)
  const wrong = countWrong(all)
  const cascades = Array.from(edits.values()).some(({ deleted }) => deleted === true)
    ? cascadesOf(catalogue, table)
    : []
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
      if (conflict !== undefined) onConflict()
      if (refusal !== undefined) onRefused(refusal.refused)
      setFailure(
        conflict === undefined
          ? (refusal?.error ?? error)
          : new Error(
              `Row ${rowId(table, conflict.row)} was changed or deleted by another user since it was read. Go on editing, and compare it with your change, or discard that.`
            )
      )
      setBusy(false)
    }
  }
  const none = edits.size === 0
  // Ctrl S opens the review, and saves in it.
  const verb = useRef<HTMLButtonElement>(null)
  useLayoutEffect(() => {
    verb.current?.focus()
    const keys = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "s" || !isMod(event)) return
      event.preventDefault()
      event.stopPropagation()
      // A key that is held down is one press.
      if (!event.repeat) verb.current?.click()
    }
    addEventListener("keydown", keys, true)
    return () => removeEventListener("keydown", keys, true)
  }, [])
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
            <Button
              ref={verb}
              kind="main"
              keys={`${mod}S`}
              busy={busy}
              disabled={none || tooLarge !== undefined}
              onClick={() => void save()}
            >
              Save
            </Button>
          </>
        }
      >
        {tooLarge === undefined ? null : <Problem error={new Error(tooLarge)} title="Too large for one transaction" />}
        {left === 0 ? null : (
          <p className="note" role="note">
            {plural(wrong, "cell")} can&apos;t be saved as {wrong === 1 ? "it is" : "they are"}, and stay
            {wrong === 1 ? "s" : ""} marked in the table. {plural(left, "change")} wait{left === 1 ? "s" : ""} for that.
          </p>
        )}
        {cascades.length === 0 ? null : (
          <p className="note" role="note">
            With the deleted rows, their rows in <b>{cascades.map(({ name }) => name).join(", ")}</b> are deleted as
            well.
          </p>
        )}
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
