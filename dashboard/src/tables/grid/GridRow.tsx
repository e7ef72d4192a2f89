import { memo, type RefObject } from "react"
import type { Row } from "../rows/identity.ts"
import { Cell } from "./Cell.tsx"
import { CellEditor, type Move } from "./CellEditor.tsx"
import { type GridColumn, isMonospaced, isNumeric } from "./columns.ts"

/** An edit of the active cell. */
export interface Editing {
  /** As it was when the edit began: what is saved is compared with that, however often the table is read meanwhile. */
  readonly row: Row
  /** The first character, if typing began the edit. */
  readonly typed: string | undefined
}

/** What happens in a row. */
export interface RowActions {
  readonly pick: (row: Row, on: boolean) => void
  /** The cell is pressed. */
  readonly choose: (row: number, column: number) => void
  readonly edit: () => void
  readonly follow: (column: GridColumn, value: unknown) => void
  readonly finish: (row: Row, column: string, value: unknown, move: Move) => void
  readonly cancel: () => void
}

interface RowCellsProps {
  readonly index: number
  /** Undefined: it is not read yet. */
  readonly row: Row | undefined
  readonly columns: ReadonlyArray<GridColumn>
  /** The unsaved values. */
  readonly edits: Readonly<Record<string, unknown>> | undefined
  readonly refused: string | undefined
  readonly picked: boolean
  /** The column of the active cell, if it is in this row. */
  readonly active: number | undefined
  /** The editor in the active cell. */
  readonly editing: Editing | undefined
  /** The current callbacks, in a ref: a change of them does not render the row again. */
  readonly actions: RefObject<RowActions>
}

/** The cells of a row. Scrolling moves them without rendering them again, which would be most of the cost of a frame. */
export const RowCells = memo((props: RowCellsProps) => {
  const { actions, active, columns, edits, editing, index, picked, refused, row } = props
  return (
    <>
      <div role="rowheader" aria-colindex={1} className="cell pin">
        <span className="no">{index + 1}</span>
        {row === undefined ? null : (
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select row ${index + 1}`}
            checked={picked}
            onChange={(event) => actions.current.pick(row, event.target.checked)}
          />
        )}
      </div>
      {columns.map((column, at) => {
        const here = active === at
        const changed = edits !== undefined && column.name in edits
        const value = changed ? edits[column.name] : row?.[column.name]
        const right = isNumeric(column.type) && column.foreign === undefined
        return (
          // Its keys are those of the grid, which has the focus.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={column.name}
            id={here ? "active-cell" : undefined}
            role="gridcell"
            tabIndex={-1}
            aria-colindex={at + 2}
            aria-invalid={
              changed && refused !== undefined && (refused === "" || refused === column.name) ? true : undefined
            }
            className={`cell ${here ? "active" : ""} ${here && editing !== undefined ? "editing" : ""} ${changed ? "changed" : ""} ${right ? "right" : ""} ${isMonospaced(column.type) ? "mono" : ""}`}
            style={{ width: column.width }}
            onMouseDown={(event) => {
              if (here && editing !== undefined) return
              event.preventDefault()
              actions.current.choose(index, at)
            }}
            onDoubleClick={() => actions.current.edit()}
          >
            {row === undefined ? (
              <span className="bar" style={{ width: `${30 + ((index * 7 + at * 13) % 50)}%` }} />
            ) : (
              <Cell
                column={column}
                row={row}
                value={value}
                onFollow={(column, value) => actions.current.follow(column, value)}
              />
            )}
            {!here || editing === undefined || row === undefined ? null : (
              <CellEditor
                key={`${index}.${at}`}
                column={column}
                value={changed ? value : editing.row[column.name]}
                typed={editing.typed}
                onCancel={() => actions.current.cancel()}
                onDone={(value, move) => actions.current.finish(editing.row, column.name, value, move)}
              />
            )}
          </div>
        )
      })}
    </>
  )
})
RowCells.displayName = "RowCells"
