import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useState } from "react"
import type { Blocks } from "../rows/blocks.ts"
import type { GridColumn } from "./columns.ts"

export const rowHeight = 32
const headHeight = 34
/** Room for the number of the last row. */
const gutterFor = (length: number) => Math.max(44, 16 + 7 * String(length).length)
/** The part of the view that pinned columns may take. */
const mostPinned = 0.7
/** Rows beyond the view. */
const over = 6
/** Elements end at 17 (Firefox) to 33 (Chromium) million pixels: positions of taller tables are scaled. */
const tallest = 15_000_000

/** Which rows are in view, and where they stand. */
export const useGridView = (
  scroller: RefObject<HTMLDivElement | null>,
  blocks: Blocks,
  columns: ReadonlyArray<GridColumn>,
  /** How many columns are to stay where they are. */
  wanted: number,
  /** With those that are not saved yet. */
  length: number
) => {
  const [view, setView] = useState({ top: 0, height: 600, width: 1000 })
  const full = length * rowHeight
  const height = Math.min(full, tallest)
  const scale = full > tallest ? (full - view.height) / Math.max(1, tallest - view.height) : 1
  const top = view.top * scale
  const from = Math.max(0, Math.floor(top / rowHeight) - over)
  const to = Math.min(length, Math.ceil((top + view.height) / rowHeight) + over)

  const stored = Math.min(to, blocks.length)
  useEffect(() => blocks.want(Math.min(from, stored), stored), [blocks, from, stored])
  const look = useCallback(() => {
    const element = scroller.current
    if (element !== null)
      setView({ top: element.scrollTop, height: element.clientHeight - headHeight, width: element.clientWidth })
  }, [scroller])
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    look()
    const observer = new ResizeObserver(look)
    observer.observe(element)
    return () => observer.disconnect()
  }, [scroller, look])
  // A notch of the wheel moves as many rows in a scaled table as in any other.
  useEffect(() => {
    const element = scroller.current
    if (element === null || scale === 1) return
    const wheel = (event: WheelEvent) => {
      if (event.deltaY === 0 || event.ctrlKey) return
      event.preventDefault()
      element.scrollTop += event.deltaY / scale
    }
    element.addEventListener("wheel", wheel, { passive: false })
    return () => element.removeEventListener("wheel", wheel)
  }, [scroller, scale])

  const gutter = gutterFor(length)
  const lefts = useMemo(() => {
    let left = gutter
    return columns.map(({ width }) => (left += width) - width)
  }, [columns, gutter])

  // What stays must leave room for what moves.
  let fixed = Math.min(wanted, columns.length)
  while (fixed > 0 && (lefts[fixed - 1] ?? 0) + (columns[fixed - 1]?.width ?? 0) > view.width * mostPinned) fixed--

  /** Scrolls a cell into view. */
  const show = (row: number, column: number) => {
    const element = scroller.current
    if (element === null) return
    const y = row * rowHeight
    const now = element.scrollTop * scale
    const room = element.clientHeight - headHeight
    if (y < now) element.scrollTop = y / scale
    else if (y + rowHeight > now + room) element.scrollTop = (y + rowHeight - room) / scale
    if (column < fixed) return
    const left = lefts[column] ?? 0
    const covered = lefts[fixed] ?? gutter
    const right = left + (columns[column]?.width ?? 0)
    if (left - covered < element.scrollLeft) element.scrollLeft = left - covered
    else if (right > element.scrollLeft + element.clientWidth) element.scrollLeft = right - element.clientWidth
  }

  const page = Math.max(1, Math.floor(view.height / rowHeight) - 1)
  const yOf = (index: number) => index * rowHeight - top + view.top
  const pinned = useMemo(() => lefts.slice(0, fixed), [lefts, fixed])
  return { from, to, height, page, yOf, show, look, pinned, gutter }
}
