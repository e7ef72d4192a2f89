import type { ComparedName, CopyPayload, Counts, Difference, Kind } from "./queries.ts"

/** What the user has chosen of a table: single rows, by their keys, and whole kinds. */
export interface Choice {
  readonly rows: ReadonlyMap<string, Difference>
  readonly all: ReadonlySet<Kind>
  /** Whether rows that are only in main may be chosen, which deletes them. */
  readonly deletes: boolean
}

export const nothing: Choice = { rows: new Map(), all: new Set(), deletes: false }

export const keyText = ({ key }: Difference) => JSON.stringify(key)

export const isChosen = ({ all, rows }: Choice, row: Difference) => all.has(row.kind) || rows.has(keyText(row))
export const mayChoose = ({ deletes }: Choice, kind: Kind) => deletes || kind !== "only_in_main"

/** Chooses a row, or takes it back. Of a kind that is chosen as a whole, the other rows in view stay chosen. */
export const withRow = (choice: Choice, row: Difference, shown: ReadonlyArray<Difference>): Choice => {
  const rows = new Map(choice.rows)
  const all = new Set(choice.all)
  if (all.delete(row.kind)) {
    for (const other of shown) if (other.kind === row.kind) rows.set(keyText(other), other)
  }
  if (!rows.delete(keyText(row))) rows.set(keyText(row), row)
  return { ...choice, rows, all }
}

export const withKind = (choice: Choice, kind: Kind): Choice => {
  const rows = new Map(Array.from(choice.rows).filter(([, row]) => row.kind !== kind))
  const all = new Set(choice.all)
  if (!all.delete(kind)) all.add(kind)
  return { ...choice, rows, all }
}

/** Without the permission to delete, no row is chosen that would be. */
export const withDeletes = (choice: Choice, deletes: boolean): Choice => {
  if (deletes) return { ...choice, deletes }
  const rows = new Map(Array.from(choice.rows).filter(([, { kind }]) => kind !== "only_in_main"))
  return { deletes, rows, all: new Set(Array.from(choice.all).filter((kind) => kind !== "only_in_main")) }
}

/** Rows that are chosen of each kind. */
export const chosenOf = (choice: Choice, counts: Counts | undefined): Readonly<Record<Kind, number>> => {
  const of = (kind: Kind) =>
    choice.all.has(kind)
      ? (counts?.[kind].count ?? 0)
      : Array.from(choice.rows.values()).filter((row) => row.kind === kind).length
  return { only_in_branch: of("only_in_branch"), changed: of("changed"), only_in_main: of("only_in_main") }
}

export const payloadOf = (
  { schema, table }: ComparedName,
  { all, deletes, rows }: Choice,
  counts: Counts | undefined
): CopyPayload => ({
  tables: [
    {
      schema,
      table,
      rows: Array.from(rows.values(), ({ key, token }) => ({ key, token })),
      all: counts === undefined ? {} : Object.fromEntries(Array.from(all, (kind) => [kind, counts[kind].digest])),
      delete: deletes
    }
  ]
})
