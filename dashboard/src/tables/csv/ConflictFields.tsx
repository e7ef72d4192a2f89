import { useId } from "react"
import type { Table } from "../../catalogue/queries.ts"
import type { Conflict } from "./importRows.ts"
import type { Targets } from "./source.ts"

/** The keys of a table by which a row of a file can exist. */
const keysOf = ({ primary_key, unique_keys }: Table): ReadonlyArray<ReadonlyArray<string>> => [
  ...(primary_key.length === 0 ? [] : [primary_key]),
  ...unique_keys.map(({ columns }) => columns)
]

interface ConflictFieldsProps {
  readonly table: Table
  readonly targets: Targets
  readonly conflict: Conflict | undefined
  readonly onChange: (conflict: Conflict | undefined) => void
}

/** Whether rows whose key exists are refused, replaced or skipped, and by which key. */
export const ConflictFields = ({ conflict, onChange, table, targets }: ConflictFieldsProps) => {
  const id = useId()
  const keys = keysOf(table).filter((columns) => columns.every((name) => targets.includes(name)))
  const [first] = keys
  if (first === undefined) return null
  return (
    <div className="csv-conflict">
      <label htmlFor={id}>Rows whose key exists</label>
      <select
        id={id}
        className="field"
        value={conflict?.resolution ?? ""}
        onChange={({ target: { value } }) =>
          onChange(
            value === "merge-duplicates" || value === "ignore-duplicates"
              ? { columns: conflict?.columns ?? first, resolution: value }
              : undefined
          )
        }
      >
        <option value="">are an error</option>
        <option value="merge-duplicates">update the stored row</option>
        <option value="ignore-duplicates">are skipped</option>
      </select>
      {conflict === undefined ? null : (
        <select
          className="field"
          aria-label="Key"
          value={JSON.stringify(conflict.columns)}
          onChange={({ target: { value } }) =>
            onChange({ ...conflict, columns: keys.find((columns) => JSON.stringify(columns) === value) ?? first })
          }
        >
          {keys.map((columns) => (
            <option key={columns.join()} value={JSON.stringify(columns)}>
              by {columns.join(", ")}
            </option>
          ))}
        </select>
      )}
    </div>
  )
}
