import { Button } from "../ui/Button.tsx"
import { bytes, count, plural } from "../ui/format.ts"
import { copy, toastError } from "../ui/toast.ts"
import type { Live } from "./live/useLive.ts"
import type { Blocks } from "./rows/blocks.ts"

/** Rows that are counted exactly anyway, as the service estimates. */
const exact = 10_000

interface StatusBarProps {
  readonly blocks: Blocks
  /** Of the table on disk. */
  readonly bytes: number | undefined
  /** How many cells are selected, if several are. */
  readonly selected: string | undefined
  /** What is special about changing the rows. */
  readonly note: string | undefined
  readonly live: Live
  /** Cells that others have changed, and that have changes here. */
  readonly conflicts: number
  readonly onCompare: () => void
  /** Makes the table publish its changes, if it does not. */
  readonly onFollow: (() => void) | undefined
  readonly curl: () => string
}

/** How much there is, how long it took, and what was asked. */
export const StatusBar = (props: StatusBarProps) => {
  const { blocks, bytes: size, conflicts, curl, live, note, selected } = props
  const guessed = blocks.counted === "estimated" && blocks.length > exact
  const rows = `${guessed ? "about " : ""}${count(blocks.length)} ${blocks.length === 1 ? "row" : "rows"}`
  return (
    <footer className="statusbar">
      <span>{blocks.ready ? rows : blocks.failure === undefined ? "Reading…" : "Not read"}</span>
      {guessed ? (
        <Button kind="quiet" onClick={() => void blocks.countExactly().catch(toastError)}>
          Count exactly
        </Button>
      ) : null}
      {size === undefined ? null : <span className="only-wide">{bytes(size)}</span>}
      {blocks.ready ? <span>{Math.round(blocks.millis)} ms</span> : null}
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
        <Button kind="quiet" icon="alert" onClick={props.onCompare}>
          Compare
        </Button>
      ) : null}
      {live.state === "open" && live.changes === 0 ? (
        <span className="badge good" title="Rows that others change are marked as it happens">
          live
        </span>
      ) : null}
      {props.onFollow === undefined ? null : (
        <Button kind="quiet" icon="realtime" onClick={props.onFollow}>
          Follow changes
        </Button>
      )}
      <span role="status">{selected}</span>
      <span className="grow how" title={note}>
        {note}
      </span>
      <code className="only-wide">GET {decodeURIComponent(blocks.url.split("?")[0] ?? "")}</code>
      <Button kind="quiet" icon="code" onClick={() => void copy(curl(), "Request")}>
        Copy request
      </Button>
    </footer>
  )
}
