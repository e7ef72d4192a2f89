import { useState } from "react"
import type { Table } from "../catalogue/queries.ts"
import { type CellChange, type Edits, remainingOf, withDeleted, withEdits } from "./rows/edits.ts"
import type { Row } from "./rows/identity.ts"

interface Staged {
  readonly edits: Edits
  /** What Undo returns to, and Redo. */
  readonly past: ReadonlyArray<Edits>
  readonly future: ReadonlyArray<Edits>
}

const none: Staged = { edits: new Map(), past: [], future: [] }

/** Steps that can be taken back. */
const most = 200

/** The unsaved changes of a table, each step of which can be taken back. */
export const useStaged = (table: Table | undefined) => {
  const [staged, setStaged] = useState(none)
  const step = (next: (edits: Edits) => Edits) =>
    setStaged(({ edits, past }) => ({ edits: next(edits), past: [...past.slice(1 - most), edits], future: [] }))
  return {
    edits: staged.edits,
    canUndo: staged.past.length > 0,
    canRedo: staged.future.length > 0,
    step,
    stage: (changes: ReadonlyArray<CellChange>) => {
      if (table !== undefined && changes.length > 0) step((edits) => withEdits(edits, table, changes))
    },
    remove: (rows: ReadonlyArray<Row>) => {
      if (table !== undefined) step((edits) => withDeleted(edits, table, rows))
    },
    undo: () =>
      setStaged((now) => {
        const edits = now.past.at(-1)
        return edits === undefined ? now : { edits, past: now.past.slice(0, -1), future: [now.edits, ...now.future] }
      }),
    redo: () =>
      setStaged((now) => {
        const [edits, ...future] = now.future
        return edits === undefined ? now : { edits, past: [...now.past, now.edits], future }
      }),
    /** What is saved can't be taken back. */
    saved: () =>
      setStaged(({ edits }) => ({ ...none, edits: table === undefined ? none.edits : remainingOf(edits, table) })),
    /** These rows are gone. */
    forget: (gone: ReadonlySet<string>) =>
      setStaged(({ edits }) => ({ ...none, edits: new Map(Array.from(edits).filter(([id]) => !gone.has(id))) }))
  }
}
