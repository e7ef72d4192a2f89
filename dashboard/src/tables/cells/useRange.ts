import { type RefObject, useState } from "react"
import { toastError } from "../../ui/toast.ts"
import { type CellRange, type GridPlace, rangeOf, stretched } from "./range.ts"

interface RangeOptions {
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly show: (row: number, column: number) => void
  /** Keeps a place within the cells. */
  readonly clamp: (place: GridPlace) => GridPlace
  readonly onFill: (source: CellRange, whole: CellRange) => void
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
  const drag = (begin: GridPlace, moved: (place: GridPlace) => void, ended?: () => void) => {
    // Not needed for the first rows.
    import("./drag.ts").then(
      ({ drag }) => drag({ element: scroller.current, begin, clamp, show, moved, ended }),
      toastError
    )
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
      drag(place, setExtent)
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
