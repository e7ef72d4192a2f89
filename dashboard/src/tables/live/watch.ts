import { ChangeSocket, type SocketState } from "../../wire/changes/ChangeSocket.ts"
import { parseFaithful, parseRows } from "../../wire/exact.ts"
import type { Row } from "../rows/identity.ts"

/** A change that another user, or an app, has made. */
export interface RowChange {
  readonly id: number
  readonly operation: "INSERT" | "UPDATE" | "DELETE" | "TRUNCATE"
  /** After it, or before a deletion. It may lack columns. */
  readonly row: Row
}

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
  readonly schema: string
  readonly table: string
  readonly json: ReadonlySet<string>
  /** What has arrived since the last call. `missed`: other changes may be missing. */
  readonly onChanges: (changes: ReadonlyArray<RowChange>, missed: boolean) => void
  readonly onState: (state: SocketState) => void
}

/** Watches a table until the result is called. */
export const watch = ({ json, onChanges, onState, schema, table }: WatchOptions): (() => void) => {
  let arrived: Array<RowChange> = []
  let missed = false
  let frame = 0
  let last = 0
  const flush = () => {
    frame = 0
    const changes = arrived
    arrived = []
    onChanges(changes, missed)
    missed = false
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
      if (id > last && message.schema === schema && message.table === table) {
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
