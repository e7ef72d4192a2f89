import { Icon } from "../../ui/Icon.tsx"
import type { GridColumn } from "./columns.ts"
import { exactText } from "../../wire/exact.ts"
import { valueShown } from "./values.ts"
import { isCut, maxCell, type Row } from "../rows/identity.ts"

/** The label of the row that a value refers to; undefined until it is read again after an edit. */
export const labelOf = ({ foreign, name }: GridColumn, row: Row, value: unknown) => {
  if (foreign?.label === undefined || row[name] !== value) return undefined
  const known = row[foreign.alias] as Row | null | undefined
  const label = exactText(known?.[foreign.label])
  return label === null || label === undefined ? undefined : String(label)
}

interface CellProps {
  readonly column: GridColumn
  readonly row: Row
  readonly value: unknown
  readonly onFollow: (column: GridColumn, value: unknown) => void
}

export const Cell = ({ column, onFollow, row, value }: CellProps) => {
  const { foreign, type, values } = column
  if (value === null) return <span className="null">NULL</span>
  if (value === undefined) return <span className="null">default</span>
  if (value === "") return <span className="null">EMPTY</span>
  if (type === "boolean") return <span className={`bool ${String(value)}`}>{String(value)}</span>
  if (values !== undefined) {
    return <span className={`enum hue-${values.indexOf(String(value)) % 6}`}>{String(value)}</span>
  }
  // Longer texts are cut before the browser lays them out. The row's panel shows the whole.
  const whole = valueShown(value, type)
  const cut = whole.length > maxCell || (isCut(row, column.name) && row[column.name] === value)
  const text = cut ? `${whole.slice(0, maxCell)}…` : whole
  if (foreign === undefined || cut) return <span>{text}</span>
  const label = labelOf(column, row, value)
  return (
    <>
      <span>{text}</span>
      {label === undefined ? null : <span className="ref">{label}</span>}
      <button
        type="button"
        tabIndex={-1}
        className="go"
        aria-label={`Open ${foreign.references.table} ${text}`}
        onClick={(event) => {
          event.stopPropagation()
          onFollow(column, value)
        }}
      >
        <Icon name="link" size={14} />
      </button>
    </>
  )
}
