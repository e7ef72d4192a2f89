import { ChangeSocket, type SocketState } from "../../wire/changes/ChangeSocket.ts"
import { parseFaithful, parseRows } from "../../wire/exact.ts"
import type { Table } from "../../catalogue/queries.ts"
import { isPlaced, type Row, rowId } from "../rows/identity.ts"

/** A change that another user, or an app, has made. */
export interface RowChange {
  readonly id: number
  readonly operation: "INSERT" | "UPDATE" | "DELETE" | "TRUNCATE"
  /** After it, or before a deletion. It may lack columns. */
  readonly row: Row
}

/** By the row, without a key by the change. */
export type Arrived = ReadonlyMap<string, RowChange>

/** Rows that are known to have changed; with more, only that there are more. */
const most = 1000

interface Message {
  readonly gap?: true
  readonly oldest: number
  readonly id: number
  readonly schema: string
  readonly table: string
  readonly operation: RowChange["operation"]
  readonly row: Row | null
  readonly old_row: Row | null
}

interface WatchOptions {
  readonly table: Table
  /** Columns of JSON. */
  readonly json: ReadonlySet<string>
  readonly onArrived: (next: (now: Arrived) => Arrived) => void
  /** Other changes may be missing. */
  readonly onMissed: (missed: true) => void
  readonly onState: (state: SocketState) => void
}

const withChanges = (now: Arrived, changes: ReadonlyArray<RowChange>, table: Table) => {
  const next = new Map(now)
  for (const change of changes) {
    const unknown = isPlaced(table) || change.operation === "TRUNCATE"
    next.set(unknown ? `event ${change.id}` : rowId(table, change.row), change)
  }
  return next.size <= most ? next : new Map(Array.from(next).slice(-most))
}

/** Watches a table until the result is called. */
export const watch = ({ json, onArrived, onMissed, onState, table }: WatchOptions): (() => void) => {
  let arrived: Array<RowChange> = []
  let missed = false
  let frame = 0
  let last = 0
  const flush = () => {
    frame = 0
    const changes = arrived
    arrived = []
    if (missed) onMissed(true)
    missed = false
    onArrived((now) => {
      const next = withChanges(now, changes, table)
      if (next.size === most) onMissed(true)
      return next
    })
  }
  const later = () => {
    if (frame === 0) frame = requestAnimationFrame(flush)
  }
  const socket = new ChangeSocket({
    since: undefined,
    onText: (text) => {
      const message = parseFaithful(text) as Message
      if (message.gap === true) {
        missed = true
        later()
        return message.oldest
      }
      const { id, old_row: old, operation } = message
      // A replay repeats what was received.
      if (id > last && message.schema === table.schema && message.table === table.name) {
        const [row] = parseRows(JSON.stringify([message.row ?? old ?? {}]), json) as ReadonlyArray<Row>
        arrived.push({ id, operation, row: row ?? {} })
        later()
      }
      last = Math.max(last, id)
      return id
    },
    onState: (state) => {
      // Nothing was received from where the feed could resume.
      if (state === "waiting" && last === 0) missed = true
      if (state === "open" && missed) later()
      onState(state)
    }
  })
  const close = socket.open()
  return () => {
    cancelAnimationFrame(frame)
    close()
  }
}
