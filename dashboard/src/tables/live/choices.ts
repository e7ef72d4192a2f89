import { type Edits, isEqual, isNone } from "../rows/edits.ts"
import type { Row } from "../rows/identity.ts"

export interface ConflictChoice {
  readonly id: string
  readonly columns: ReadonlyArray<string>
  readonly theirs: Row | null
  readonly keep: "mine" | "theirs"
}

/** Decides conflicts: what is kept of mine is a change of what is theirs. */
export const withChoice = (edits: Edits, { columns, id, keep, theirs }: ConflictChoice): Edits => {
  const next = new Map(edits)
  const edit = edits.get(id)
  if (edit === undefined) return edits
  if (theirs === null || (edit.deleted === true && keep === "theirs")) {
    next.delete(id)
    return next
  }
  const now = Object.fromEntries(columns.map((name) => [name, theirs[name]]))
  const values = Object.fromEntries(
    Object.entries(edit.values).filter(
      ([name, value]) => !columns.includes(name) || (keep === "mine" && !isEqual(value, theirs[name]))
    )
  )
  const decided = { ...edit, row: { ...edit.row, ...now }, values }
  if (isNone(decided)) next.delete(id)
  else next.set(id, decided)
  return next
}
