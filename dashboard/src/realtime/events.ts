import type { Change, Entry } from "../wire/changes/message.ts"

/** Events that are kept; older ones go. */
export const mostKept = 5000

/** Newest first. What was received before, which a replay repeats, is left out. */
export const merged = (kept: ReadonlyArray<Entry>, arrived: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  let last = kept[0]?.id ?? 0
  const fresh: Array<Entry> = []
  for (const entry of arrived) {
    if (entry.tag === "change" && entry.id <= last) continue
    last = Math.max(last, entry.id)
    fresh.push(entry)
  }
  return fresh.length === 0 ? kept : [...fresh.toReversed(), ...kept].slice(0, mostKept)
}

export interface Filter {
  readonly table: string
  readonly operation: string
  readonly text: string
}

/** Texts in lower case, made when a filter first looks at them. */
const lower = new WeakMap<Change, string>()
const lowerOf = (change: Change) => {
  const text = lower.get(change) ?? change.text.toLowerCase()
  lower.set(change, text)
  return text
}

/** Gaps are always shown: what is missing may have matched. */
export const matching = (entries: ReadonlyArray<Entry>, { operation, table, text }: Filter) => {
  if (operation === "" && table === "" && text === "") return entries
  const words = text.toLowerCase()
  return entries.filter(
    (entry) =>
      entry.tag === "gap" ||
      ((operation === "" || entry.operation === operation) &&
        (table === "" || entry.table === table) &&
        (words === "" || lowerOf(entry).includes(words)))
  )
}

const shown = (value: unknown): string =>
  value === null ? "NULL" : typeof value === "object" ? JSON.stringify(value) : String(value)

/** Columns of a change with their values before and after it, in their order. */
export const columnsOf = ({ old, row }: Pick<Change, "old" | "row">) =>
  Array.from(new Set([...Object.keys(old ?? {}), ...Object.keys(row ?? {})]), (name) => {
    const before = old !== null && name in old ? shown(old[name]) : undefined
    const after = row !== null && name in row ? shown(row[name]) : undefined
    return { name, before, after, changed: old !== null && row !== null && before !== after }
  })

/** One line about a change: what differs, or the first columns. */
export const summaryOf = (change: Change) => {
  const columns = columnsOf(change)
  const listed = change.operation === "UPDATE" ? columns.filter(({ changed }) => changed) : columns
  return listed
    .slice(0, 6)
    .map(({ after, before, name }) =>
      change.operation === "UPDATE"
        ? `${name}: ${(before ?? "–").slice(0, 60)} → ${(after ?? "–").slice(0, 60)}`
        : `${name}: ${(after ?? before ?? "").slice(0, 60)}`
    )
    .join(" · ")
}
