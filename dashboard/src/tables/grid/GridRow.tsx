import { memo, type RefObject } from "react"
import { conflictsOf, type RowEdit } from "../rows/edits.ts"
import { isFresh, type Row } from "../rows/identity.ts"
import { Cell } from "./Cell.tsx"
import type { Move } from "./CellEditor.tsx"
import { editorNow } from "./editor.ts"
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
  /** The cell is pressed. `extend`: the range goes up to it. */
  readonly choose: (row: number, column: number, extend: boolean) => void
  /** The handle of the range is pressed. */
  readonly pull: () => void
  readonly edit: (typed?: string) => void
  readonly follow: (column: GridColumn, value: unknown) => void
  readonly finish: (row: Row, column: string, value: unknown, move: Move) => void
  readonly cancel: () => void
}

interface RowCellsProps {
  readonly index: number
  /** Undefined: it is not read yet. */
  readonly row: Row | undefined
  readonly columns: ReadonlyArray<GridColumn>
  /** What is not saved. */
  readonly edit: RowEdit | undefined
  /** Where the pinned columns stand, which come first. */
  readonly pinned: ReadonlyArray<number>
  readonly refused: string | undefined
  /** What others have done to the row since it was read. */
  readonly mark: "changed" | "deleted" | undefined
  /** The row of the edit as it is now, if it was read again; null: it is gone. */
  readonly theirs: Row | null | undefined
  readonly picked: boolean
  /** The column of the active cell, if it is in this row. */
  readonly active: number | undefined
  /** The columns of the range, if it has this row. */
  readonly left: number | undefined
  readonly right: number | undefined
  /** The last column that the handle would fill in this row. */
  readonly fillsTo: number | undefined
  /** The column with the handle. */
  readonly corner: number | undefined
  /** The editor in the active cell. */
  readonly editing: Editing | undefined
  /** The current callbacks, in a ref: a change of them does not render the row again. */
  readonly actions: RefObject<RowActions>
}

/** The cells of a row. Scrolling moves them without rendering them again, which would be most of the cost of a frame. */
export const RowCells = memo((props: RowCellsProps) => {
  const { actions, active, columns, edit, editing, index, left = 0, picked, refused, right = -1, row } = props
  const CellEditor = editing === undefined ? undefined : editorNow()
  const conflicts = edit === undefined ? [] : conflictsOf(edit, props.theirs)
  const fresh = row !== undefined && isFresh(row)
  const blank = fresh && edit === undefined
  const edits = edit?.values
  return (
    <>
      <div role="rowheader" aria-colindex={1} className="cell pin">
        <span className="no" aria-hidden={fresh || undefined}>
          {fresh ? "+" : index + 1}
        </span>
        {fresh ? <span className="sr">{blank ? "Empty row: type or paste to insert rows" : "New row"}</span> : null}
        {props.mark === undefined ? null : (
          <span className="mark" title={`${props.mark} by others since it was read`}>
            <span className="sr">{props.mark} by others since it was read</span>
          </span>
        )}
        {edit?.deleted === true ? <span className="sr">To be deleted</span> : null}
        {row === undefined || fresh ? null : (
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
        const wrong = edit?.wrong?.[column.name]
        const changed = edits !== undefined && column.name in edits
        const value = wrong?.text ?? (changed ? edits[column.name] : row?.[column.name])
        const conflict = conflicts.includes(column.name)
        const selected = at >= left && at <= right
        const number = isNumeric(column.type) && column.foreign === undefined
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
              wrong !== undefined ||
              (changed && refused !== undefined && (refused === "" || refused === column.name)) ||
              undefined
            }
            aria-selected={selected || undefined}
            className={`cell ${here ? "active" : ""} ${here && editing !== undefined ? "editing" : ""} ${changed ? "changed" : ""} ${selected ? "in-range" : ""} ${conflict ? "conflict" : ""} ${at < props.pinned.length ? "pinned" : ""} ${props.fillsTo !== undefined && at <= props.fillsTo ? "fills" : ""} ${number ? "right" : ""} ${isMonospaced(column.type) ? "mono" : ""}`}
            style={{ width: column.width, left: props.pinned[at] }}
            title={wrong?.problem ?? (conflict ? "Changed by others since it was read" : undefined)}
            onMouseDown={(event) => {
              if (here && editing !== undefined) return
              event.preventDefault()
              // A press that opens the menu keeps the range.
              if (event.button === 0) actions.current.choose(index, at, event.shiftKey)
            }}
            onDoubleClick={() => actions.current.edit()}
          >
            {blank ? null : wrong !== undefined ? (
              <>
                <span>{wrong.text}</span>
                <span className="sr">{wrong.problem}</span>
              </>
            ) : row === undefined ? (
              <span className="bar" style={{ width: `${30 + ((index * 7 + at * 13) % 50)}%` }} />
            ) : (
              <Cell
                column={column}
                row={row}
                value={value}
                onFollow={(column, value) => actions.current.follow(column, value)}
              />
            )}
            {conflict ? <span className="sr">changed by others since it was read</span> : null}
            {props.corner !== at || editing !== undefined ? null : (
              <span
                className="handle"
                aria-hidden="true"
                onMouseDown={(event) => {
                  event.preventDefault()
                  event.stopPropagation()
                  actions.current.pull()
                }}
              />
            )}
            {!here || editing === undefined || row === undefined || CellEditor === undefined ? null : (
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
