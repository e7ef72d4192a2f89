import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore
} from "react"
import { isMod } from "../../ui/keys.ts"
import { toast, toastError } from "../../ui/toast.ts"
import { beyond, type CellRange, type GridPlace, heightOf, isOneCell, widthOf } from "../cells/range.ts"
import { type CellCommands, useCells } from "../cells/useCells.ts"
import type { Live } from "../live/useLive.ts"
import { useRange } from "../cells/useRange.ts"
import { editText } from "./values.ts"
import type { Point } from "./ContextMenu.tsx"
import type { Blocks } from "../rows/blocks.ts"
import type { Move } from "./CellEditor.tsx"
import { editorNow, loadEditor } from "./editor.ts"
import { type GridColumn, isMade } from "./columns.ts"
import { GridHead } from "./GridHead.tsx"
import { type Editing, type RowActions, RowCells } from "./GridRow.tsx"
import type { CellChange, RowEdit } from "../rows/edits.ts"
import { isCut, isFresh, isWhole, type Row } from "../rows/identity.ts"
import type { Order } from "../rows/keyset.ts"
import { useGridView } from "./useGridView.ts"
import { WaitingRows } from "./WaitingRows.tsx"

/** A cell whose menu is asked for, and what can be done with the range around it. */
interface MenuCell {
  readonly row: Row
  readonly column: string
  readonly value: unknown
  readonly at: Point
  readonly range: CellRange
  readonly commands: CellCommands
}

interface GridProps {
  readonly label: string
  readonly blocks: Blocks
  readonly columns: ReadonlyArray<GridColumn>
  /** How many of the columns stay where they are when the others are scrolled. */
  readonly fixed: number
  readonly order: ReadonlyArray<Order>
  /** Why cells can't be edited; undefined if they can. */
  readonly readOnly: string | undefined
  /** The rows have a primary key. Without one, an edit compares all values of its row. */
  readonly keyed: boolean
  /** `"shop"."orders"` */
  readonly name: string
  /** The new rows, which follow the others; the last one is empty. */
  readonly fresh: ReadonlyArray<Row>
  /** What is not saved of a row. */
  readonly editOf: (row: Row) => RowEdit | undefined
  /** The column that PostgreSQL has refused in a row; empty: it is not known which. */
  readonly refusedIn: (row: Row) => string | undefined
  /** What others have done to a row, and to the row of an edit. */
  readonly live: Pick<Live, "markOf" | "theirsOf">
  readonly idOf: (row: Row) => string
  readonly isPicked: (row: Row) => boolean
  readonly onPick: (row: Row, on: boolean) => void
  readonly onSort: (column: string, add: boolean) => void
  /** Moves a column by places. */
  readonly onMove: (column: string, by: number) => void
  readonly onStage: (changes: ReadonlyArray<CellChange>) => void
  readonly onRemove: (rows: ReadonlyArray<Row>) => void
  readonly onUndo: () => void
  readonly onRedo: () => void
  /** How many rows and columns are selected; undefined: one cell. */
  readonly onRange: (size: string | undefined) => void
  readonly onFollow: (column: GridColumn, value: unknown) => void
  readonly onOpen: (row: Row) => void
  readonly onResize: (column: string, width: number) => void
  /** The menu of a cell is asked for. */
  readonly onMenu: (cell: MenuCell) => void
}

/** The row number of the head, above the first. */
const head = -1

export const Grid = (props: GridProps) => {
  const {
    blocks,
    columns,
    editOf,
    fresh,
    isPicked,
    label,
    onFollow,
    onMenu,
    onOpen,
    onPick,
    onRange,
    onResize,
    onSort,
    onStage,
    order
  } = props
  useSyncExternalStore(blocks.subscribe, blocks.snapshot)
  const scroller = useRef<HTMLDivElement>(null)
  const actions = useRef<RowActions>(null as unknown as RowActions)
  const { ready } = blocks
  useEffect(() => {
    // A failure is reported when it is needed.
    if (ready) loadEditor().catch(() => undefined)
  }, [ready])
  const [editing, setEditing] = useState<Editing>()
  const length = blocks.length + fresh.length
  const { from, height, look, page, pinned, show, to, yOf, gutter } = useGridView(
    scroller,
    blocks,
    columns,
    props.fixed,
    length
  )
  const commands = useCells(props)
  const clamp = (place: GridPlace): GridPlace => ({
    row: Math.max(0, Math.min(length - 1, place.row)),
    column: Math.max(0, Math.min(columns.length - 1, place.column))
  })
  const { active, extend, extent, filling, press, pull, range, select, stand } = useRange({
    scroller,
    show,
    clamp,
    onFill: (source, whole) => commands.repeat(source, beyond(source, whole))
  })
  const size = isOneCell(range) ? undefined : `${heightOf(range)} × ${widthOf(range)} cells`
  useEffect(() => onRange(size), [onRange, size])
  /** Whether the next paste makes new rows. */
  const asRows = useRef(false)
  const rowAt = (index: number) => (index < blocks.length ? blocks.row(index) : fresh[index - blocks.length])

  const begin = useRef(stand)
  begin.current = stand
  useLayoutEffect(() => {
    scroller.current?.scrollTo(0, 0)
    begin.current({ row: 0, column: 0 })
    setEditing(undefined)
  }, [blocks])

  const go = (row: number, column: number) => {
    const next = {
      // Before the first rows have arrived there is no last one.
      row: Math.max(head, Math.min(Math.max(0, length - 1), row)),
      column: Math.max(0, Math.min(columns.length - 1, column))
    }
    stand(next)
    show(Math.max(0, next.row), next.column)
  }
  const valueOf = (row: Row, { name }: GridColumn) => {
    const edit = editOf(row)
    return edit !== undefined && name in edit.values ? edit.values[name] : row[name]
  }
  /** Runs once the row, or at least the value, is there as a whole: what is saved and compared must not be cut. */
  const withWhole = (row: Row, { name }: GridColumn, run: (row: Row) => void) => {
    if (isWhole(row) || (props.keyed && !isCut(row, name))) run(row)
    else blocks.whole(row).then(run, toastError)
  }
  /** What was typed while the editor was loaded, or nothing yet. */
  const waiting = useRef<string>(undefined)
  const edit = (typed?: string): void => {
    if (editorNow() === undefined) {
      const first = waiting.current === undefined
      waiting.current = (waiting.current ?? "") + (typed ?? "")
      if (!first) return
      void loadEditor()
        .then(() => actions.current.edit(waiting.current === "" ? undefined : waiting.current), toastError)
        .finally(() => (waiting.current = undefined))
      return
    }
    const column = columns[active.column]
    const row = rowAt(active.row)
    if (column === undefined || row === undefined) return
    if (props.readOnly !== undefined) toast(props.readOnly)
    else if (isMade(column)) toast(`${column.name} is generated by the database`)
    else if (editOf(row)?.deleted === true) toast("The row is to be deleted: Shift Del keeps it")
    else {
      withWhole(row, column, (whole) => {
        // The table may have been read again meanwhile, and has another row there, with its beginning only.
        if (rowAt(active.row) === whole)
          setEditing({ row: whole, typed: typed ?? editOf(whole)?.wrong?.[column.name]?.text })
        else edit(typed)
      })
    }
  }
  const finish = (row: Row, column: string, value: unknown, move: Move) => {
    setEditing(undefined)
    const shown = columns[active.column]
    if (move === "all" && !isOneCell(range) && shown !== undefined)
      commands.setAll(range, value === null ? null : editText(value, shown.type))
    else onStage([{ row, column, value }])
    scroller.current?.focus()
    if (move === "all") {
      if (isOneCell(range)) go(active.row + 1, active.column)
    } else if (move === "down") go(active.row + 1, active.column)
    else if (move !== "stay") go(active.row, active.column + (move === "right" ? 1 : -1))
  }
  const cancel = () => {
    setEditing(undefined)
    scroller.current?.focus()
  }

  const openMenu = (index: number, at: Point, column = columns[active.column]) => {
    const row = rowAt(index)
    if (row === undefined || column === undefined) return
    const at0 = columns.indexOf(column)
    const inRange = index >= range.top && index <= range.bottom && at0 >= range.left && at0 <= range.right
    const one = { top: index, bottom: index, left: at0, right: at0 }
    onMenu({
      row,
      column: column.name,
      value: valueOf(row, column),
      at,
      range: inRange ? range : one,
      commands
    })
  }
  const onContextMenu = (event: MouseEvent) => {
    // The editor of a cell has the browser's own menu.
    if (editing !== undefined) return
    const cell = (event.target as Element).closest("[role=gridcell]")
    const index = Number(cell?.closest("[role=row]")?.getAttribute("aria-rowindex")) - 2
    const column = Number(cell?.getAttribute("aria-colindex")) - 2
    if (cell === null || columns[column] === undefined) return
    event.preventDefault()
    if (index < range.top || index > range.bottom || column < range.left || column > range.right)
      stand({ row: index, column })
    openMenu(index, { x: event.clientX, y: event.clientY }, columns[column])
  }

  const onHeadKey = ({ altKey, key, shiftKey }: KeyboardEvent): boolean => {
    const column = columns[active.column]
    if (active.row !== head || column === undefined) return false
    if (key === "Enter" || key === " ") onSort(column.name, shiftKey)
    else if (altKey && shiftKey && (key === "ArrowLeft" || key === "ArrowRight")) {
      const by = key === "ArrowRight" ? 1 : -1
      props.onMove(column.name, by)
      go(head, active.column + by)
    } else if (altKey && (key === "ArrowLeft" || key === "ArrowRight")) {
      onResize(column.name, Math.max(60, column.width + (key === "ArrowRight" ? 16 : -16)))
    } else return false
    return true
  }
  const onCellKey = (event: KeyboardEvent, row: Row, column: GridColumn): boolean => {
    const { key } = event
    if (key === "Enter" || key === "F2") edit()
    else if (key === "ContextMenu" || (key === "F10" && event.shiftKey)) {
      const box = event.currentTarget.querySelector("#active-cell")?.getBoundingClientRect()
      if (box !== undefined) openMenu(active.row, { x: box.left + 8, y: box.bottom })
    } else if (key === " ") {
      if (event.shiftKey) {
        if (!isFresh(row)) onPick(row, !isPicked(row))
      } else if (isFresh(row)) toast("The row is not saved yet")
      else onOpen(row)
    } else if (
      isMod(event) &&
      key === "Backspace" &&
      column.nullable &&
      props.readOnly === undefined &&
      !isMade(column)
    ) {
      if (isOneCell(range))
        withWhole(row, column, (whole) => onStage([{ row: whole, column: column.name, value: null }]))
      else commands.setAll(range, null)
    } else if (key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) edit(key)
    else return false
    return true
  }
  /** Of the range. */
  const onRangeKey = (event: KeyboardEvent): boolean => {
    const key = event.key.toLowerCase()
    const { bottom, left, right, top } = range
    if (key === "delete") {
      if (event.shiftKey) commands.remove(range)
      else commands.clear(range)
      return true
    }
    if (key === "escape" && !isOneCell(range)) {
      stand(active)
      return true
    }
    if (!isMod(event) || event.altKey) return false
    if (key === "a") select({ row: 0, column: 0 }, { row: blocks.length - 1, column: columns.length - 1 })
    else if (key === "c") commands.copy(range)
    else if (key === "d") {
      // A row alone is filled from the one above.
      const from = top === bottom ? Math.max(0, top - 1) : top
      if (bottom > from) commands.repeat({ ...range, top: from, bottom: from }, { ...range, top: from + 1 })
    } else if (key === "r") {
      const from = left === right ? Math.max(0, left - 1) : left
      if (right > from) commands.repeat({ ...range, left: from, right: from }, { ...range, left: from + 1 })
    } else if (key === "y" || (key === "z" && event.shiftKey)) props.onRedo()
    else if (key === "z") props.onUndo()
    else if (key === "v") {
      asRows.current = event.shiftKey
      return false
    } else return false
    return true
  }
  // Browsers send it to where text was last selected, whatever has the focus.
  const paste = useRef<(event: ClipboardEvent) => void>(() => undefined)
  paste.current = (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? ""
    if (editing !== undefined || document.activeElement !== scroller.current || active.row === head || text === "")
      return
    event.preventDefault()
    commands.paste(text, range, asRows.current)
    asRows.current = false
  }
  useEffect(() => {
    const pasted = (event: ClipboardEvent) => paste.current(event)
    document.addEventListener("paste", pasted)
    return () => document.removeEventListener("paste", pasted)
  }, [])
  const keys = (event: KeyboardEvent) => {
    if (editing !== undefined || event.target !== event.currentTarget) return
    const extending = event.shiftKey && active.row !== head
    const { column, row } = extending ? extent : active
    const far = isMod(event)
    // Behind the last row is the empty one, which is reached by a step.
    const lastRow = Math.max(0, blocks.length - 1)
    const moves: Readonly<Record<string, readonly [row: number, column: number]>> = {
      ArrowDown: [far ? Math.max(lastRow, row) : row + 1, column],
      ArrowUp: [far ? 0 : row - 1, column],
      ArrowLeft: [row, far ? 0 : column - 1],
      ArrowRight: [row, far ? columns.length - 1 : column + 1],
      PageDown: [row + page, column],
      PageUp: [Math.max(0, row - page), column],
      Home: [far ? 0 : row, 0],
      End: [far ? lastRow : row, columns.length - 1]
    }
    const move = event.altKey ? undefined : moves[event.key]
    const found = rowAt(active.row)
    const shown = columns[active.column]
    if (move !== undefined) {
      if (extending) extend({ row: move[0], column: move[1] })
      else go(...move)
    } else if (
      !onHeadKey(event) &&
      !(found !== undefined && shown !== undefined && (onRangeKey(event) || onCellKey(event, found, shown)))
    )
      return
    event.preventDefault()
  }

  actions.current = {
    pick: onPick,
    choose: (row, column, shift) => {
      scroller.current?.focus({ preventScroll: true })
      press({ row, column }, shift)
    },
    pull,
    edit,
    follow: onFollow,
    finish,
    cancel
  }
  const width = columns.reduce((sum, column) => sum + column.width, gutter)
  const rows = Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at)
  return (
    <div
      ref={scroller}
      className={`grid ${editing === undefined ? "" : "editing"}`}
      role="grid"
      aria-label={label}
      aria-rowcount={length + 1}
      aria-colcount={columns.length + 1}
      aria-activedescendant="active-cell"
      aria-readonly={props.readOnly !== undefined}
      aria-multiselectable="true"
      tabIndex={0}
      style={{ "--gutter": `${gutter}px` } as CSSProperties}
      onKeyDown={keys}
      onContextMenu={onContextMenu}
      onScroll={look}
    >
      <GridHead
        columns={columns}
        pinned={pinned}
        order={order}
        active={active.row === head ? active.column : undefined}
        onSort={onSort}
        onResize={onResize}
        onMove={props.onMove}
      />
      {blocks.ready ? null : <WaitingRows columns={columns} />}
      <div className="grid-inner" role="rowgroup" style={{ height, width }}>
        {rows.map((index) => {
          const row = rowAt(index)
          const edit = row === undefined ? undefined : editOf(row)
          const picked = row !== undefined && isPicked(row)
          const here = active.row === index
          const edited = here && editing !== undefined
          const selected = index >= range.top && index <= range.bottom && !isOneCell(range)
          const fills = filling !== undefined && index >= filling.top && index <= filling.bottom
          return (
            <div
              key={index}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={picked}
              className={`row ${picked ? "picked" : ""} ${edited ? "editing" : ""} ${edit?.deleted === true ? "deleted" : ""}`}
              style={{ transform: `translateY(${yOf(index)}px)` }}
            >
              <RowCells
                index={index}
                row={row}
                columns={columns}
                pinned={pinned}
                edit={edit}
                refused={row === undefined || edit === undefined ? undefined : props.refusedIn(row)}
                mark={row === undefined ? undefined : props.live.markOf(row)}
                theirs={row === undefined || edit === undefined ? undefined : props.live.theirsOf(props.idOf(row))}
                picked={picked}
                active={here ? active.column : undefined}
                left={selected ? range.left : undefined}
                right={selected ? range.right : undefined}
                fillsTo={fills ? filling.right : undefined}
                corner={index === range.bottom && props.readOnly === undefined ? range.right : undefined}
                editing={here ? editing : undefined}
                actions={actions}
              />
            </div>
          )
        })}
      </div>
    </div>
  )
}
