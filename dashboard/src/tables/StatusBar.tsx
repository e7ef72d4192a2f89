import { lazy, Suspense } from "react"
import type { Table } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { count } from "../ui/format.ts"
import { copy, toastError } from "../ui/toast.ts"
import type { Live } from "./live/useLive.ts"
import type { Blocks } from "./rows/blocks.ts"

const Size = lazy(async () => ({ default: (await import("./rows/Size.tsx")).Size }))
const LiveStatus = lazy(async () => ({ default: (await import("./live/LiveStatus.tsx")).LiveStatus }))

/** Rows that are counted exactly anyway, as the service estimates. */
const exact = 10_000

interface StatusBarProps {
  readonly blocks: Blocks
  /** Undefined: a view, which takes no space. */
  readonly table: Pick<Table, "schema" | "name"> | undefined
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
  const { blocks, conflicts, curl, live, note, selected, table } = props
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
      {blocks.ready ? <span>{Math.round(blocks.millis)} ms</span> : null}
      <Suspense>
        {blocks.ready && table !== undefined ? <Size schema={table.schema} name={table.name} /> : null}
        <LiveStatus live={live} conflicts={conflicts} onCompare={props.onCompare} onFollow={props.onFollow} />
      </Suspense>
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
