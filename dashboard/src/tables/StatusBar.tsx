import { Button } from "../ui/Button.tsx"
import { bytes, count } from "../ui/format.ts"
import { copy, toastError } from "../ui/toast.ts"
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
  readonly curl: () => string
}

/** How much there is, how long it took, and what was asked. */
export const StatusBar = ({ blocks, bytes: size, curl, note, selected }: StatusBarProps) => {
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
