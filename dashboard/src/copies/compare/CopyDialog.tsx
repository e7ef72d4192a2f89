import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Dialog, DialogBody } from "../../ui/Dialog.tsx"
import { Skeleton } from "../../ui/Empty.tsx"
import { plural } from "../../ui/format.ts"
import { useAction } from "../../ui/FormDialog.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { call } from "../../wire/call.ts"
import { type Choice, payloadOf } from "./choice.ts"
import type { ComparedName, CopyResult, Counts, Kind } from "./queries.ts"

interface CopyDialogProps {
  readonly of: ComparedName
  readonly choice: Choice
  readonly counts: Counts | undefined
  readonly chosen: Readonly<Record<Kind, number>>
  readonly onClose: () => void
  readonly onCopied: () => void
}

const Outcome = ({ done, of }: { of: CopyResult["tables"][number]; done: boolean }) => (
  <ul className="compare-outcome">
    {of.inserted === 0 ? null : (
      <li>
        <span className="badge good">{done ? "inserted" : "insert"}</span> {plural(of.inserted, "row")}
      </li>
    )}
    {of.updated === 0 ? null : (
      <li>
        <span className="badge warn">{done ? "changed" : "change"}</span> {plural(of.updated, "row")}, in all columns
        that are compared
      </li>
    )}
    {of.deleted === 0 ? null : (
      <li>
        <span className="badge bad">{done ? "deleted" : "delete"}</span> {plural(of.deleted, "row")} of main
      </li>
    )}
    {of.skipped === 0 ? null : (
      <li>
        <span className="badge">skipped</span> {plural(of.skipped, "row")}, by a trigger of main
      </li>
    )}
  </ul>
)

/** Tries the copy and rolls it back, shows what it would do, does it, and shows what it has done. */
export const CopyDialog = ({ choice, chosen, counts, of, onClose, onCopied }: CopyDialogProps) => {
  const payload = payloadOf(of, choice, counts)
  const copy = (dry_run: boolean, signal?: AbortSignal) =>
    call("POST /api/branches/:id/copy-rows", {
      params: { id: of.branch },
      payload: { ...payload, dry_run },
      ...(signal && { signal })
    })
  const trial = useQuery({
    queryKey: ["copy-trial", payload],
    queryFn: ({ signal }) => copy(true, signal),
    retry: false,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false
  })
  const [result, setResult] = useState<CopyResult>()
  const { busy, failure, go } = useAction(async () => {
    setResult(await copy(false))
    onCopied()
  })
  const shown = (result ?? trial.data)?.tables[0]
  const title = result === undefined ? `Copy rows of ${of.table} into main?` : "The rows are in main"
  return (
    <Dialog label={title} {...(busy ? {} : { onClose })}>
      <DialogBody
        title={title}
        buttons={
          result === undefined ? (
            <>
              <Button disabled={busy} onClick={onClose}>
                Cancel
              </Button>
              <Button
                kind={chosen.only_in_main > 0 ? "danger" : "main"}
                busy={busy}
                disabled={trial.data === undefined}
                onClick={go}
              >
                {chosen.only_in_main > 0 ? "Copy and delete rows" : "Copy rows"}
              </Button>
            </>
          ) : (
            <Button kind="main" onClick={onClose}>
              Done
            </Button>
          )
        }
      >
        {shown === undefined ? null : (
          <div className="dialog-text" role="status">
            <p>
              {result === undefined
                ? "Tried, and rolled back. In one transaction this will:"
                : "In one transaction the main database has:"}
            </p>
            <Outcome of={shown} done={result !== undefined} />
            {result === undefined ? (
              <p>
                Triggers, webhooks and foreign keys of main apply as for any write. If a row changes before the copy,
                nothing is written.
                {chosen.only_in_main > 0
                  ? " Foreign keys that cascade also delete rows of other tables. Deleted rows can only be had back from a backup."
                  : ""}
              </p>
            ) : null}
          </div>
        )}
        {trial.isPending ? <Skeleton lines={[80, 60]} /> : null}
        {trial.isError ? <Problem error={trial.error} title="These rows can't be copied" /> : null}
        {failure === undefined ? null : <Problem error={failure} title="Nothing was copied" />}
      </DialogBody>
    </Dialog>
  )
}
