import { Button } from "../../ui/Button.tsx"
import { count } from "../../ui/format.ts"
import { copy } from "../../ui/toast.ts"
import { valueText } from "./copies.ts"
import type { Result } from "./rows.ts"

interface ResultRowProps {
  readonly result: Result
  readonly index: number
  readonly onClose: () => void
}

/** One row of a result: every value as a whole. The arrow keys of the table move it from row to row. */
export const ResultRow = ({ index, onClose, result: { columns, rows } }: ResultRowProps) => {
  const row = rows.at(index)
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape closes it from within
    <aside
      className="panel"
      aria-label={`Row ${count(index + 1)}`}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose()
      }}
    >
      <header>
        <h2>
          Row {count(index + 1)} <small>of {count(rows.length)}</small>
        </h2>
        <Button kind="quiet" icon="copy" label="Copy as JSON" onClick={() => void copy(rows.json(index), "Row")} />
        <Button kind="quiet" icon="x" label="Close" onClick={onClose} />
      </header>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls */}
      <div className="panel-body" tabIndex={0} role="group" aria-label="Values">
        <dl>
          {columns.map(({ name, type }, at) => {
            const value = row[name]
            return (
              <div key={`${at} ${name}`}>
                <dt>
                  {name}
                  <code>{type}</code>
                </dt>
                <dd>
                  {value === null || value === "" ? (
                    <span className="null">{value === null ? "NULL" : "EMPTY"}</span>
                  ) : typeof value === "object" ? (
                    <pre>{JSON.stringify(value, null, 2)}</pre>
                  ) : (
                    <span>{valueText(value)}</span>
                  )}
                </dd>
              </div>
            )
          })}
        </dl>
      </div>
    </aside>
  )
}
