import { type RefObject, useState } from "react"
import { type CellRange, type GridPlace, rangeOf, stretched } from "./range.ts"

interface RangeOptions {
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly show: (row: number, column: number) => void
  /** Keeps a place within the cells. */
  readonly clamp: (place: GridPlace) => GridPlace
  readonly onFill: (source: CellRange, whole: CellRange) => void
}

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

/** The cell on which the keyboard stands, the range that begins there, and how the pointer changes them. */
export const useRange = ({ clamp, onFill, scroller, show }: RangeOptions) => {
  const [active, setActive] = useState<GridPlace>({ row: 0, column: 0 })
  const [extent, setExtent] = useState<GridPlace>()
  /** What the handle would fill. */
  const [filling, setFilling] = useState<CellRange>()
  const range = rangeOf(active, extent ?? active)

  const extend = (place: GridPlace) => {
    const next = clamp(place)
    setExtent(next)
    show(next.row, next.column)
    return next
  }
  const drag = (begin: GridPlace, moved: (place: GridPlace) => void, ended: () => void) => {
    let last = begin
    const move = (event: MouseEvent) => {
      const element = scroller.current
      if (element === null) return
      const next = clamp(placeUnder(element, event, last))
      if (next.row === last.row && next.column === last.column) return
      last = next
      moved(next)
      show(next.row, next.column)
    }
    const end = () => {
      removeEventListener("mousemove", move)
      ended()
    }
    addEventListener("mousemove", move)
    addEventListener("mouseup", end, { once: true })
  }
  return {
    active,
    /** Where the range ends. */
    extent: extent ?? active,
    range,
    filling,
    /** A cell, and no other. */
    stand: (place: GridPlace) => {
      setActive(place)
      setExtent(undefined)
    },
    select: (from: GridPlace, to: GridPlace) => {
      setActive(from)
      setExtent(to)
    },
    extend,
    /** The pointer is pressed on a cell. */
    press: (place: GridPlace, shift: boolean) => {
      if (shift) setExtent(place)
      else {
        setActive(place)
        setExtent(undefined)
      }
      drag(place, setExtent, () => undefined)
    },
    /** The pointer is pressed on the handle of the range. */
    pull: () => {
      let whole = range
      drag(
        { row: range.bottom, column: range.right },
        (place) => {
          whole = stretched(range, place)
          setFilling(whole)
        },
        () => {
          setFilling(undefined)
          if (whole === range) return
          onFill(range, whole)
          setActive({ row: whole.top, column: whole.left })
          setExtent({ row: whole.bottom, column: whole.right })
        }
      )
    }
  }
}
