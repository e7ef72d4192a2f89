import { textFormats } from "../cells/formats.ts"
import { heightOf, isOneCell, type CellRange } from "../cells/range.ts"
import type { CellCommands } from "../cells/useCells.ts"
import { plural } from "../../ui/format.ts"
import { ContextMenu, type Point } from "./ContextMenu.tsx"
import { mod } from "../../ui/keys.ts"
import { MenuItem } from "../../ui/Popover.tsx"
import { copy, toastError } from "../../ui/toast.ts"
import { valueShown } from "./values.ts"
import { type GridColumn, isMade, labelsOf, shownValues } from "./columns.ts"
import type { Blocks } from "../rows/blocks.ts"
import type { Filter } from "../rows/filters.ts"
import { isCut, isFresh, type Row } from "../rows/identity.ts"

/** Values and labels that a menu offers at most. */
const mostValues = 12

/** A cell, and where its menu opens. */
export interface Cell {
  readonly row: Row
  readonly column: GridColumn
  /** As it is shown, with what is not saved. */
  readonly value: unknown
  readonly at: Point
  /** The cells around it that are selected. */
  readonly range: CellRange
  readonly commands: CellCommands
}

interface CellMenuProps {
  readonly cell: Cell
  /** All of the table. */
  readonly columns: ReadonlyArray<GridColumn>
  /** From which the values come that were cut in the row. */
  readonly blocks: Blocks
  /** The rows have a primary key. Without one, an edit compares all values of its row. */
  readonly keyed: boolean
  /** The place of its column among those that are shown, and how many of these are pinned. */
  readonly at: number
  readonly fixed: number
  readonly onPin: (fixed: number) => void
  readonly onMove: (by: number) => void
  /** Chooses the column of the other table that is shown beside a reference. */
  readonly onLabel: (label: string) => void
  /** Whether rows can be changed, and inserted. */
  readonly changeable: boolean
  readonly insertable: boolean
  readonly onFilter: (filter: Filter) => void
  readonly onChange: (change: { readonly row: Row; readonly column: string; readonly value: unknown }) => void
  readonly onOpen: () => void
  /** Opens the row that the reference names. */
  readonly onPeek: (column: GridColumn, value: unknown) => void
  readonly onInsertLike: (row: Row) => void
  readonly onDelete: () => void
  readonly onClose: () => void
}

/** What is done with one cell or its row most often. */
export const CellMenu = (props: CellMenuProps) => {
  const { blocks, cell, changeable, columns, insertable, keyed, onClose } = props
  const { at, column, commands, range, row, value } = cell
  const fresh = isFresh(row)
  const labels = column.foreign === undefined ? [] : labelsOf(column.foreign).slice(0, mostValues)
  const cells = isOneCell(range) ? "cell" : "cells"
  const item = (run: () => void) => () => {
    onClose()
    run()
  }
  /** Runs with the row as a whole, which may have to be read. */
  const withWhole = (run: (row: Row) => unknown) => item(() => void blocks.whole(row).then(run).catch(toastError))
  const edited = value !== row[column.name]
  const setNull = (whole: Row) => props.onChange({ row: whole, column: column.name, value: null })
  // JSON and arrays have another text in PostgreSQL, and of a long value only the beginning is here.
  const comparable = !fresh && !edited && typeof value !== "object" && !isCut(row, column.name)
  const text = valueShown(value, column.type)
  const shown = text.length > 24 ? `${text.slice(0, 24)}…` : text
  return (
    <ContextMenu label={`Cell ${column.name}`} at={at} onClose={onClose}>
      {value === null && !edited && !fresh ? (
        <>
          <MenuItem icon="filter" onClick={item(() => props.onFilter([column.name, "is.null"]))}>
            Only where {column.name} is NULL
          </MenuItem>
          <MenuItem icon="filter" onClick={item(() => props.onFilter([column.name, "not.is.null"]))}>
            Only where it is not NULL
          </MenuItem>
          <hr />
        </>
      ) : comparable ? (
        <>
          <MenuItem icon="filter" onClick={item(() => props.onFilter([column.name, `eq.${String(value)}`]))}>
            Only where {column.name} is {shown === "" ? "empty" : shown}
          </MenuItem>
          <MenuItem icon="filter" onClick={item(() => props.onFilter([column.name, `neq.${String(value)}`]))}>
            Only where it is not
          </MenuItem>
          <hr />
        </>
      ) : null}
      <MenuItem icon="copy" note={`${mod}C`} onClick={item(() => commands.copy(range))}>
        Copy {cells}
      </MenuItem>
      {isOneCell(range)
        ? null
        : textFormats.map((format) => (
            <MenuItem key={format} icon="copy" onClick={item(() => commands.copy(range, format))}>
              Copy cells as {format}
            </MenuItem>
          ))}
      {fresh ? null : (
        <MenuItem
          icon="copy"
          onClick={withWhole((whole) => copy(JSON.stringify(shownValues(whole, columns), null, 2), "Row"))}
        >
          Copy row as JSON
        </MenuItem>
      )}
      {fresh ? null : (
        <MenuItem icon="right" note="Space" onClick={item(props.onOpen)}>
          Open row
        </MenuItem>
      )}
      {column.foreign?.table === undefined || value === null || value === undefined ? null : (
        <MenuItem icon="link" onClick={item(() => props.onPeek(column, value))}>
          Open the row of {column.foreign.table.name}
        </MenuItem>
      )}
      {insertable && !fresh ? (
        <MenuItem icon="plus" onClick={withWhole(props.onInsertLike)}>
          Insert a row like this…
        </MenuItem>
      ) : null}
      <hr />
      <MenuItem icon="left" note="head ⌥⇧←" onClick={item(() => props.onMove(-1))}>
        Move column left
      </MenuItem>
      <MenuItem icon="right" note="head ⌥⇧→" onClick={item(() => props.onMove(1))}>
        Move column right
      </MenuItem>
      <MenuItem icon="columns" onClick={item(() => props.onPin(props.fixed === props.at + 1 ? 0 : props.at + 1))}>
        {props.fixed === props.at + 1 ? "Unpin columns" : "Pin columns up to here"}
      </MenuItem>
      <hr />
      {labels.length < 2
        ? null
        : [
            ...labels.map((one) => (
              <MenuItem key={one} checked={one === column.foreign?.label} onClick={item(() => props.onLabel(one))}>
                Show {one} beside the key
              </MenuItem>
            )),
            <hr key="" />
          ]}
      {changeable ? (
        <>
          {column.nullable && value !== null && !isMade(column) ? (
            <MenuItem
              icon="undo"
              note={`${mod}⌫`}
              onClick={keyed && !isCut(row, column.name) ? item(() => setNull(row)) : withWhole(setNull)}
            >
              Set NULL
            </MenuItem>
          ) : null}
          {isOneCell(range) || range.left !== range.right || isMade(column)
            ? null
            : column.values?.slice(0, mostValues).map((one) => (
                <MenuItem key={one} icon="check" onClick={item(() => commands.setAll(range, one))}>
                  Set {plural(heightOf(range), "cell")} to {one}
                </MenuItem>
              ))}
          <MenuItem icon="undo" note="Del" onClick={item(() => commands.clear(range))}>
            Empty {cells}
          </MenuItem>
          <hr />
          <MenuItem icon="trash" note="⇧Del" onClick={item(() => commands.remove(range))}>
            Delete {plural(heightOf(range), "row")} when saved
          </MenuItem>
          {fresh ? null : (
            <MenuItem icon="trash" danger onClick={item(props.onDelete)}>
              Delete row…
            </MenuItem>
          )}
        </>
      ) : null}
    </ContextMenu>
  )
}
