import { useMemo, useState } from "react"

/** How a table was last shown, per table. */
export interface Kept {
  readonly widths: Readonly<Record<string, number>>
  readonly hidden: ReadonlyArray<string>
  /** The order of the columns, if it was changed; others follow in that of the table. */
  readonly order: ReadonlyArray<string>
  /** How many of the columns that are shown stay where they are. */
  readonly fixed: number
}

/** With what is not part of a view. */
interface KeptHere extends Kept {
  /** The columns of other tables that are shown beside references, by the column of the reference. */
  readonly labels: Readonly<Record<string, string>>
}

const none: KeptHere = { widths: {}, hidden: [], order: [], fixed: 0, labels: {} }

const read = (name: string): KeptHere => {
  try {
    const kept = JSON.parse(localStorage.getItem(name) ?? "null") as Partial<KeptHere> | null
    return { ...none, ...kept }
  } catch {
    return none
  }
}

/** Widths, order, and hidden and pinned columns, kept by the browser. */
export const useKeptColumns = (schema: string, table: string) => {
  const name = `svc.columns.${schema}.${table}`
  const [kept, setKept] = useState(() => read(name))
  const hidden = useMemo(() => new Set(kept.hidden), [kept.hidden])
  const keep = (next: KeptHere) => {
    setKept(next)
    localStorage.setItem(name, JSON.stringify(next))
  }
  return {
    widths: kept.widths,
    hidden,
    order: kept.order,
    fixed: kept.fixed,
    labels: kept.labels,
    label: (column: string, label: string) => keep({ ...kept, labels: { ...kept.labels, [column]: label } }),
    /** How the table is shown, as a view has it. */
    columns: {
      hidden: kept.hidden,
      order: kept.order,
      fixed: kept.fixed,
      widths: Object.fromEntries(Object.entries(kept.widths).map(([of, width]) => [of, Math.round(width)]))
    },
    show: ({ fixed, hidden, order, widths }: Kept) => keep({ ...kept, fixed, hidden, order, widths }),
    /** The columns that are shown, up to which they stay where they are. */
    pin: (fixed: number) => keep({ ...kept, fixed }),
    /** Of the columns that are shown, one is moved by places. */
    move: (shown: ReadonlyArray<string>, column: string, by: number) => {
      const at = shown.indexOf(column)
      const others = shown.filter((one) => one !== column)
      keep({ ...kept, order: others.toSpliced(Math.max(0, at + by), 0, column) })
    },
    resize: (column: string, width: number) => keep({ ...kept, widths: { ...kept.widths, [column]: width } }),
    toggle: (column: string) =>
      keep({
        ...kept,
        hidden: kept.hidden.includes(column) ? kept.hidden.filter((one) => one !== column) : [...kept.hidden, column]
      })
  }
}
