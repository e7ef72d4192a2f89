import { type KeyboardEvent, memo, useLayoutEffect, useMemo, useRef, useState } from "react"
import { isMod } from "../../ui/keys.ts"
import { copy } from "../../ui/toast.ts"
import { valueText } from "./copies.ts"
import type { Result } from "./rows.ts"
import { ResultRow } from "./ResultRow.tsx"

const rowHeight = 30
/** Rows beyond the view, and rows that decide about a column's width. */
const over = 8
const measured = 100

const numeric = /^(?:smallint|integer|bigint|numeric|real|double precision|money)/
/** Characters of a value that are laid out; the panel of its row has all of it. */
const longest = 400
const shownText = (value: unknown) => valueText(value).slice(0, longest)

const widthsOf = ({ columns, rows }: Result) => {
  const first = rows.slice(0, measured)
  return columns.map(({ name, type }) => {
    const head = name.length + type.length * 0.8 + 3
    const cells = first.map((row) => (row[name] === null ? 4 : shownText(row[name]).length))
    return Math.round(Math.min(420, Math.max(90, 24 + 7.4 * Math.max(head, ...cells))))
  })
}

interface LineProps {
  readonly index: number
  readonly row: Readonly<Record<string, unknown>>
  readonly columns: Result["columns"]
  /** The column of the active cell, if it is in this row. */
  readonly active: number | undefined
  readonly onChoose: (row: number, column: number, open: boolean) => void
}

/** Scrolling moves rows without rendering them again. */
const Line = memo(({ active, columns, index, onChoose, row }: LineProps) => (
  <tr aria-rowindex={index + 2}>
    {columns.map(({ name, type }, at) => (
      // Its keys are those of the table, which has the focus.
      // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
      <td
        key={`${at} ${name}`}
        id={active === at ? "active-cell" : undefined}
        className={`${numeric.test(type) ? "right" : ""} ${active === at ? "active" : ""}`}
        onClick={() => onChoose(index, at, false)}
        onDoubleClick={() => onChoose(index, at, true)}
      >
        {row[name] === null || row[name] === "" ? (
          <span className="null">{row[name] === null ? "NULL" : "EMPTY"}</span>
        ) : (
          shownText(row[name])
        )}
      </td>
    ))}
  </tr>
))
Line.displayName = "Line"

/** Only the rows in view are parsed and in the page: a result may have 10,000. */
export const ResultTable = ({ result }: { result: Result }) => {
  const { columns, rows } = result
  const scroller = useRef<HTMLDivElement>(null)
  const table = useRef<HTMLTableElement>(null)
  const [view, setView] = useState({ top: 0, height: 400 })
  const [active, setActive] = useState({ row: 0, column: 0 })
  const [open, setOpen] = useState(false)
  const widths = useMemo(() => widthsOf(result), [result])
  const look = () => {
    const { current } = scroller
    if (current !== null) setView({ top: current.scrollTop, height: current.clientHeight })
  }
  useLayoutEffect(() => {
    scroller.current?.scrollTo(0, 0)
    look()
    const observer = new ResizeObserver(look)
    if (scroller.current !== null) observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [result])
  const from = Math.max(0, Math.floor(view.top / rowHeight) - over)
  const to = Math.min(rows.length, Math.ceil((view.top + view.height) / rowHeight) + over)

  const choose = useRef((row: number, column: number, wanted: boolean) => {
    setActive({ row, column })
    if (wanted) setOpen(true)
  })
  const go = (row: number, column: number) => {
    const next = {
      row: Math.max(0, Math.min(rows.length - 1, row)),
      column: Math.max(0, Math.min(columns.length - 1, column))
    }
    setActive(next)
    const { current } = scroller
    if (current === null) return
    const head = current.querySelector("thead")?.clientHeight ?? rowHeight
    const [top, room] = [next.row * rowHeight, current.clientHeight - head]
    if (top < current.scrollTop) current.scrollTop = top
    else if (top + rowHeight > current.scrollTop + room) current.scrollTop = top + rowHeight - room
    const left = widths.slice(0, next.column).reduce((sum, width) => sum + width, 0)
    const right = left + (widths[next.column] ?? 0)
    if (left < current.scrollLeft) current.scrollLeft = left
    else if (right > current.scrollLeft + current.clientWidth) current.scrollLeft = right - current.clientWidth
  }
  const close = () => {
    setOpen(false)
    table.current?.focus()
  }
  const keys = (event: KeyboardEvent) => {
    const { column, row } = active
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 2)
    const [last, end] = [rows.length - 1, columns.length - 1]
    const far = isMod(event)
    const moves: Readonly<Record<string, readonly [row: number, column: number]>> = {
      ArrowDown: [far ? last : row + 1, column],
      ArrowUp: [far ? 0 : row - 1, column],
      ArrowLeft: [row, far ? 0 : column - 1],
      ArrowRight: [row, far ? end : column + 1],
      PageDown: [row + page, column],
      PageUp: [row - page, column],
      Home: [far ? 0 : row, 0],
      End: [far ? last : row, end]
    }
    const move = event.altKey || event.shiftKey ? undefined : moves[event.key]
    if (move !== undefined) go(...move)
    else if (event.key === "Enter" || event.key === " ") setOpen(true)
    else if (event.key === "Escape" && open) close()
    else if (event.key === "c" && far && getSelection()?.isCollapsed !== false && rows.length > 0) {
      void copy(valueText(rows.at(row)[columns[column]?.name ?? ""]), "Cell")
    } else return
    event.preventDefault()
  }
  return (
    <div className="result-columns">
      <div ref={scroller} className="result" role="region" aria-label="Result" onScroll={look}>
        <table
          ref={table}
          role="grid"
          aria-label="Rows"
          aria-rowcount={rows.length + 1}
          aria-colcount={columns.length}
          aria-activedescendant={rows.length === 0 ? undefined : "active-cell"}
          aria-readonly="true"
          tabIndex={0}
          style={{ width: widths.reduce((sum, width) => sum + width, 0) }}
          onKeyDown={keys}
        >
          <colgroup>
            {columns.map(({ name }, at) => (
              <col key={`${at} ${name}`} style={{ width: widths[at] }} />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map(({ name, type }, at) => (
                <th key={`${at} ${name}`} scope="col" className={numeric.test(type) ? "right" : ""}>
                  {name}
                  <small>{type}</small>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {from === 0 ? null : <tr aria-hidden="true" style={{ height: from * rowHeight }} />}
            {rows.slice(from, to).map((row, at) => (
              <Line
                key={from + at}
                index={from + at}
                row={row}
                columns={columns}
                active={active.row === from + at ? active.column : undefined}
                onChoose={choose.current}
              />
            ))}
            {to === rows.length ? null : <tr aria-hidden="true" style={{ height: (rows.length - to) * rowHeight }} />}
          </tbody>
        </table>
        {rows.length === 0 ? <p className="none">No rows.</p> : null}
      </div>
      {open && active.row < rows.length ? <ResultRow result={result} index={active.row} onClose={close} /> : null}
    </div>
  )
}
