import { parseExact } from "../exact.ts"

type Row = Readonly<Record<string, unknown>>

export interface Change {
  readonly tag: "change"
  readonly id: number
  readonly table: string
  readonly operation: "INSERT" | "UPDATE" | "DELETE"
  readonly row: Row | null
  readonly old: Row | null
  readonly at: string
  readonly truncated: boolean
  /** As it arrived. */
  readonly text: string
}

/** Events are missing before the id. */
interface Gap {
  readonly tag: "gap"
  readonly id: number
}

export type Entry = Change | Gap

interface Message {
  readonly gap?: true
  readonly oldest: number
  readonly id: number
  readonly schema: string
  readonly table: string
  readonly operation: Change["operation"]
  readonly row: Row | null
  readonly old_row: Row | null
  readonly timestamp: string
  readonly truncated?: boolean
}

/** A message of the feed. */
export const entryOf = (text: string): Entry => {
  const message = parseExact(text) as Message
  if (message.gap === true) return { tag: "gap", id: message.oldest }
  const { id, old_row, operation, row, schema, table, timestamp, truncated = false } = message
  const name = schema === "public" ? table : `${schema}.${table}`
  return { tag: "change", id, table: name, operation, row, old: old_row, at: timestamp, truncated, text }
}
