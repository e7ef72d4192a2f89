import { memo, type PointerEvent, useRef } from "react"
import { Icon } from "../../ui/Icon.tsx"
import { type GridColumn, shortType } from "./columns.ts"
import type { Order } from "../rows/keyset.ts"

interface GridHeadProps {
  readonly columns: ReadonlyArray<GridColumn>
  /** Where the pinned columns stand, which come first. */
  readonly pinned: ReadonlyArray<number>
  readonly order: ReadonlyArray<Order>
  /** The column on which the keyboard stands; undefined while it is in the rows. */
  readonly active: number | undefined
  readonly onSort: (column: string, add: boolean) => void
  readonly onResize: (column: string, width: number) => void
  /** Moves a column by places. */
  readonly onMove: (column: string, by: number) => void
}

/** Pixels that a press must move to be a drag. */
const slop = 6

export const GridHead = memo(({ active, columns, onMove, onResize, onSort, order, pinned }: GridHeadProps) => {
  const dragged = useRef(false)
  const drag = (event: PointerEvent<HTMLElement>, { name, width }: GridColumn) => {
    event.preventDefault()
    event.stopPropagation()
    const target = event.currentTarget
    target.setPointerCapture(event.pointerId)
    const begin = event.clientX
    const moved = (next: globalThis.PointerEvent) => onResize(name, Math.max(60, width + next.clientX - begin))
    target.addEventListener("pointermove", moved)
    target.addEventListener("lostpointercapture", () => target.removeEventListener("pointermove", moved), {
      once: true
    })
  }
  /** Alt Shift and the arrow keys do the same. */
  const carry = (event: PointerEvent<HTMLElement>, name: string, from: number) => {
    const cell = event.currentTarget
    const begin = event.clientX
    dragged.current = false
    const placeAt = ({ clientX, clientY }: globalThis.PointerEvent) =>
      Number(
        document.elementFromPoint(clientX, clientY)?.closest("[role=columnheader]")?.getAttribute("aria-colindex") ?? 0
      ) - 2
    const moved = (next: globalThis.PointerEvent) => {
      if (!dragged.current && Math.abs(next.clientX - begin) < slop) return
      dragged.current = true
      cell.classList.add("carried")
    }
    const end = (next: globalThis.PointerEvent) => {
      removeEventListener("pointermove", moved)
      removeEventListener("pointerup", end)
      removeEventListener("pointercancel", end)
      cell.classList.remove("carried")
      const to = placeAt(next)
      if (dragged.current && next.type === "pointerup" && to >= 0 && to !== from) onMove(name, to - from)
    }
    addEventListener("pointermove", moved)
    addEventListener("pointerup", end)
    addEventListener("pointercancel", end)
  }
  return (
    <div className="grid-head" role="row" aria-rowindex={1}>
      <div role="columnheader" aria-colindex={1} className="head-cell pin">
        <span className="sr">Row</span>
      </div>
      {columns.map((column, at) => {
        const sort = order.find((one) => one.column === column.name)
        return (
          // Its keys are those of the grid, which has the focus.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={column.name}
            id={active === at ? "active-cell" : undefined}
            role="columnheader"
            tabIndex={-1}
            aria-colindex={at + 2}
            aria-sort={sort === undefined ? "none" : sort.desc ? "descending" : "ascending"}
            className={`head-cell ${active === at ? "active" : ""} ${at < pinned.length ? "pinned" : ""}`}
            style={{ width: column.width, left: pinned[at] }}
            title={column.comment ?? undefined}
            onPointerDown={(event) => {
              if (event.button === 0 && event.pointerType === "mouse") carry(event, column.name, at)
            }}
            onClick={(event) => {
              // The end of a drag is a click as well.
              if (!dragged.current) onSort(column.name, event.shiftKey)
              dragged.current = false
            }}
          >
            {column.key ? (
              <Icon name="pk" size={13} />
            ) : column.foreign === undefined ? null : (
              <Icon name="link" size={13} />
            )}
            <span className="name">{column.name}</span>
            <span className="type">{shortType(column.type)}</span>
            {sort === undefined ? null : (
              <span className="sorted">
                <Icon name={sort.desc ? "desc" : "asc"} size={13} />
                {order.length > 1 ? order.indexOf(sort) + 1 : null}
              </span>
            )}
            <span
              className="grip"
              aria-hidden="true"
              onPointerDown={(event) => drag(event, column)}
              onClick={(event) => event.stopPropagation()}
            />
          </div>
        )
      })}
    </div>
  )
})
GridHead.displayName = "GridHead"
