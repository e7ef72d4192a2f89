import type { GridColumn } from "./columns.ts"
import { rowHeight } from "./useGridView.ts"

/** What rows will look like, until the first have arrived. */
export const WaitingRows = ({ columns }: { columns: ReadonlyArray<GridColumn> }) => (
  <div className="grid-inner waiting" aria-hidden="true">
    {Array.from({ length: 15 }, (_, index) => (
      <div key={index} className="row" style={{ transform: `translateY(${index * rowHeight}px)` }}>
        <div className="cell pin" />
        {columns.slice(0, 12).map(({ name, width }, at) => (
          <div key={name} className="cell" style={{ width }}>
            <span className="bar" style={{ width: `${30 + ((index * 7 + at * 13) % 50)}%` }} />
          </div>
        ))}
      </div>
    ))}
  </div>
)
