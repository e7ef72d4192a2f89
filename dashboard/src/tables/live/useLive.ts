import { useEffect, useMemo, useState, useSyncExternalStore } from "react"
import type { Table } from "../../catalogue/queries.ts"
import { toastError } from "../../ui/toast.ts"
import { place } from "../../wire/place.ts"
import type { Blocks } from "../rows/blocks.ts"
import { type Edits, isEqual } from "../rows/edits.ts"
import { isCut, isFresh, isPlaced, type Row, rowId } from "../rows/identity.ts"
import type { Arrived, RowChange } from "./watch.ts"

const none: Arrived = new Map()

const isShown = (change: RowChange, shown: Row | undefined) =>
  change.operation === "DELETE"
    ? shown === undefined
    : // A row that is not here is read when it comes into view.
      shown === undefined
      ? change.operation === "UPDATE"
      : Object.entries(change.row).every(([name, value]) => isCut(shown, name) || isEqual(value, shown[name]))

type RowMark = "changed" | "deleted"

export interface Live {
  readonly state: "off" | "connecting" | "open" | "waiting"
  /** How many rows are not as they are shown. */
  readonly changes: number
  /** There may be others. */
  readonly missed: boolean
  readonly markOf: (row: Row) => RowMark | undefined
  /** The present row of a change that is not saved, if it was read again; null: it is gone. */
  readonly theirsOf: (id: string) => Row | null | undefined
  /** Reads what is in view again. */
  readonly show: () => Promise<void>
  /** Reads the rows of all changes again. */
  readonly compare: () => void
}

/** What others change in a table while it is open. `follows`: the table publishes its changes. */
export const useLive = (blocks: Blocks, table: Table | undefined, edits: Edits, follows: boolean): Live => {
  const [state, setState] = useState<Live["state"]>("off")
  const [arrived, setArrived] = useState(none)
  const [missed, setMissed] = useState(false)
  const [theirs, setTheirs] = useState<ReadonlyMap<string, Row | null>>(new Map())
  const [asked, setAsked] = useState(0)
  const version = useSyncExternalStore(blocks.subscribe, blocks.snapshot)
  const placed = isPlaced(table)

  useEffect(() => {
    setArrived(none)
    setMissed(false)
    if (!follows || table === undefined || place.branch !== undefined) return setState("off")
    let close: (() => void) | undefined
    let left = false
    import("./watch.ts").then(({ watch }) => {
      if (left) return
      close = watch({ table, json: blocks.source.json, onState: setState, onArrived: setArrived, onMissed: setMissed })
    }, toastError)
    return () => {
      left = true
      close?.()
    }
  }, [blocks, table, follows])

  const pending = useMemo(() => {
    if (arrived.size === 0 || table === undefined) return none
    if (isPlaced(table)) return arrived
    const shown = new Map(Array.from(blocks.loaded(), (row) => [rowId(table, row), row]))
    return new Map(Array.from(arrived).filter(([id, change]) => !isShown(change, shown.get(id))))
    // The rows that are here differ from version to version.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [arrived, table, blocks, version])

  // The rows of changes that are not saved are read again when they have changed.
  const touched = placed
    ? []
    : Array.from(edits).filter(([id, { row }]) => !isFresh(row) && (asked > 0 || missed || arrived.has(id)))
  const wanted = JSON.stringify([asked, touched.map(([id]) => [id, arrived.get(id)?.id])])
  useEffect(() => {
    if (touched.length === 0 || table === undefined) return
    const controller = new AbortController()
    const read = async () => {
      const { readTheirs } = await import("./readTheirs.ts")
      const now = await readTheirs(blocks.source, table, touched, controller.signal)
      setTheirs((before) => new Map([...before, ...now]))
    }
    read().catch((error: unknown) => {
      if (!controller.signal.aborted) toastError(error)
    })
    return () => controller.abort()
    // What is read is in `wanted`.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [blocks, table, wanted])

  useEffect(() => {
    setTheirs((now) =>
      Array.from(now.keys()).every((id) => edits.has(id))
        ? now
        : new Map(Array.from(now).filter(([id]) => edits.has(id)))
    )
  }, [edits])

  return {
    state,
    changes: pending.size,
    missed,
    markOf: (row) => {
      if (table === undefined || pending.size === 0) return undefined
      const change = pending.get(rowId(table, row))
      return change === undefined ? undefined : change.operation === "DELETE" ? "deleted" : "changed"
    },
    theirsOf: (id) => theirs.get(id),
    show: async () => {
      const before = arrived
      await blocks.refresh()
      setMissed(false)
      setArrived((now) => new Map(Array.from(now).filter(([id, change]) => before.get(id) !== change)))
    },
    compare: () => setAsked((now) => now + 1)
  }
}
