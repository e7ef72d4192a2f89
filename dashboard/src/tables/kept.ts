import { useMemo, useState } from "react"

/** How a table was last shown, per table. */
interface Kept {
  readonly widths: Readonly<Record<string, number>>
  readonly hidden: ReadonlyArray<string>
}

const none: Kept = { widths: {}, hidden: [] }

const read = (name: string): Kept => {
  try {
    const kept = JSON.parse(localStorage.getItem(name) ?? "null") as Partial<Kept> | null
    return { ...none, ...kept }
  } catch {
    return none
  }
}

/** Widths and hidden columns, kept by the browser. */
export const useKeptColumns = (schema: string, table: string) => {
  const name = `svc.columns.${schema}.${table}`
  const [kept, setKept] = useState(() => read(name))
  const hidden = useMemo(() => new Set(kept.hidden), [kept.hidden])
  const keep = (next: Kept) => {
    setKept(next)
    localStorage.setItem(name, JSON.stringify(next))
  }
  return {
    widths: kept.widths,
    hidden,
    resize: (column: string, width: number) => keep({ ...kept, widths: { ...kept.widths, [column]: width } }),
    toggle: (column: string) =>
      keep({
        ...kept,
        hidden: kept.hidden.includes(column) ? kept.hidden.filter((one) => one !== column) : [...kept.hidden, column]
      })
  }
}
