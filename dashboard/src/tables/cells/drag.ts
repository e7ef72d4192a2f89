import type { GridPlace } from "./range.ts"

/** The cell under the pointer; beside the cells, the one next to the last. */
const placeUnder = (scroller: HTMLElement, { clientX, clientY }: MouseEvent, last: GridPlace): GridPlace => {
  const box = scroller.getBoundingClientRect()
  const x = Math.max(box.left + 50, Math.min(clientX, box.left + scroller.clientWidth - 2))
  const y = Math.max(box.top + 36, Math.min(clientY, box.top + scroller.clientHeight - 2))
  const cell = document.elementFromPoint(x, y)?.closest("[role=gridcell]")
  const row = Number(cell?.closest("[role=row]")?.getAttribute("aria-rowindex")) - 2
  const column = Number(cell?.getAttribute("aria-colindex")) - 2
  const found = cell === null || cell === undefined ? last : { row, column }
  const beyond = (at: number, low: number, high: number) => (at < low ? -1 : at > high ? 1 : 0)
  return {
    row: found.row + beyond(clientY, box.top, box.bottom),
    column: found.column + beyond(clientX, box.left, box.right)
  }
}

interface DragOptions {
  readonly element: HTMLElement | null
  readonly begin: GridPlace
  /** Keeps a place within the cells. */
  readonly clamp: (place: GridPlace) => GridPlace
  readonly show: (row: number, column: number) => void
  readonly moved: (place: GridPlace) => void
  readonly ended: (() => void) | undefined
}

/** Follows the pointer from cell to cell until its button is released. */
export const drag = ({ begin, clamp, element, ended, moved, show }: DragOptions) => {
  if (element === null) return
  const stop = new AbortController()
  let last = begin
  const end = () => {
    stop.abort()
    ended?.()
  }
  const move = (event: MouseEvent) => {
    // It may have been released before this was loaded.
    if (event.buttons === 0) return end()
    const next = clamp(placeUnder(element, event, last))
    if (next.row === last.row && next.column === last.column) return
    last = next
    moved(next)
    show(next.row, next.column)
  }
  addEventListener("mousemove", move, { signal: stop.signal })
  addEventListener("mouseup", end, { signal: stop.signal })
}
