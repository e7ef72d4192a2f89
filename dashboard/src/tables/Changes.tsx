import { Button } from "../ui/Button.tsx"
import { mod } from "../ui/keys.ts"

interface ChangesProps {
  readonly changes: number
  readonly onDiscard: () => void
  readonly onReview: () => void
}

/** How many changes are not saved. */
export const Changes = ({ changes, onDiscard, onReview }: ChangesProps) =>
  changes === 0 ? null : (
    <div className="changes" role="region" aria-label="Unsaved changes">
      <span>
        <b>{changes}</b> unsaved {changes === 1 ? "change" : "changes"}
      </span>
      <Button kind="quiet" icon="undo" onClick={onDiscard}>
        Discard
      </Button>
      <Button kind="main" keys={`${mod}S`} onClick={onReview}>
        Review and save
      </Button>
    </div>
  )
