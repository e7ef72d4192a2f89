import { useLayoutEffect, useMemo, useRef, useState } from "react"
import type { Result } from "./run.ts"

const rowHeight = 30
/** Rows beyond the view, and rows that decide about a column's width. */
const over = 8
const measured = 100

const numeric = /^(?:smallint|integer|bigint|numeric|real|double precision|money)/
const textOf = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value)).slice(0, 400)

const widthsOf = ({ columns, rows }: Result) =>
  columns.map(({ name, type }) => {
    const head = name.length + type.length * 0.8 + 3
    const cells = rows.slice(0, measured).map((row) => (row[name] === null ? 4 : textOf(row[name]).length))
    return Math.round(Math.min(420, Math.max(90, 24 + 7.4 * Math.max(head, ...cells))))
  })

/** Only the rows in view are in the page: a result may have 10,000. */
export const ResultTable = ({ result }: { result: Result }) => {
  const { columns, rows } = result
  const scroller = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 400 })
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
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls
    <div ref={scroller} className="result" tabIndex={0} role="region" aria-label="Result" onScroll={look}>
      <table aria-rowcount={rows.length + 1} style={{ width: widths.reduce((sum, width) => sum + width, 0) }}>
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
            <tr key={from + at} aria-rowindex={from + at + 2}>
              {columns.map(({ name, type }, index) => (
                <td key={`${index} ${name}`} className={numeric.test(type) ? "right" : ""}>
                  {row[name] === null ? <span className="null">NULL</span> : textOf(row[name])}
                </td>
              ))}
            </tr>
          ))}
          {to === rows.length ? null : <tr aria-hidden="true" style={{ height: (rows.length - to) * rowHeight }} />}
        </tbody>
      </table>
    </div>
  )
}
