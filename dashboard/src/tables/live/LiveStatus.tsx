import { Button } from "../../ui/Button.tsx"
import { plural } from "../../ui/format.ts"
import { toastError } from "../../ui/toast.ts"
import type { Live } from "./useLive.ts"

interface LiveStatusProps {
  readonly live: Live
  /** Cells that others have changed, and that have changes here. */
  readonly conflicts: number
  readonly onCompare: () => void
  /** Makes the table publish its changes, if it does not. */
  readonly onFollow: (() => void) | undefined
}

/** What others have changed since the rows were read. */
export const LiveStatus = ({ conflicts, live, onCompare, onFollow }: LiveStatusProps) => (
  <>
    <span role="status" className="live">
      {live.changes > 0
        ? `${live.missed ? "More than " : ""}${plural(live.changes, "row")} changed`
        : live.missed
          ? "Changes may be missing"
          : null}
      {conflicts > 0 ? ` · ${plural(conflicts, "conflict")} with your changes` : null}
    </span>
    {live.changes > 0 || live.missed ? (
      <Button kind="quiet" icon="refresh" onClick={() => void live.show().catch(toastError)}>
        Show changes
      </Button>
    ) : null}
    {conflicts > 0 ? (
      <Button kind="quiet" icon="alert" onClick={onCompare}>
        Compare
      </Button>
    ) : null}
    {live.state === "open" && live.changes === 0 ? (
      <span className="badge good" title="Rows that others change are marked as it happens">
        live
      </span>
    ) : null}
    {onFollow === undefined ? null : (
      <Button kind="quiet" icon="realtime" onClick={onFollow}>
        Follow changes
      </Button>
    )}
  </>
)
