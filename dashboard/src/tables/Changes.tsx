import { Button } from "../ui/Button.tsx"
import { mod } from "../ui/keys.ts"

interface ChangesProps {
  readonly changes: number
  /** How many of them can't be saved as they are. */
  readonly wrong: number
  readonly onUndo: (() => void) | undefined
  readonly onRedo: (() => void) | undefined
  readonly onDiscard: () => void
  readonly onReview: () => void
}

/** How many changes are not saved. */
export const Changes = ({ changes, onDiscard, onRedo, onReview, onUndo, wrong }: ChangesProps) => (
  <div className="changes" role="region" aria-label="Unsaved changes">
    <span>
      <b>{changes}</b> unsaved {changes === 1 ? "change" : "changes"}
    </span>
    {wrong === 0 ? null : <span className="badge bad">{wrong} can&apos;t be saved</span>}
    {onUndo === undefined ? null : (
      <Button kind="quiet" icon="undo" keys={`${mod}Z`} onClick={onUndo}>
        Undo
      </Button>
    )}
    {onRedo === undefined ? null : (
      <Button kind="quiet" keys={`${mod}Y`} onClick={onRedo}>
        Redo
      </Button>
    )}
    <Button kind="quiet" icon="x" onClick={onDiscard}>
      Discard
    </Button>
    <Button kind="main" keys={`${mod}S`} onClick={onReview}>
      Review and save
    </Button>
  </div>
)
