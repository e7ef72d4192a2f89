import { useState } from "react"
import { plural } from "../ui/format.ts"
import { copy } from "../ui/toast.ts"
import { type GridColumn, shownValues } from "./grid/columns.ts"
import type { Blocks } from "./rows/blocks.ts"
import type { Row } from "./rows/identity.ts"

/** The rows that are selected, by their keys: they stay so while others are shown. */
export const usePicked = (idOf: (row: Row) => string) => {
  const [picked, setPicked] = useState<ReadonlyMap<string, Row>>(new Map())
  return {
    rows: Array.from(picked.values()),
    has: (row: Row) => picked.has(idOf(row)),
    pick: (row: Row, on: boolean) => {
      const next = new Map(picked)
      if (on) next.set(idOf(row), row)
      else next.delete(idOf(row))
      setPicked(next)
    },
    forget: (gone: ReadonlySet<string>) => setPicked(new Map(Array.from(picked).filter(([id]) => !gone.has(id)))),
    copy: async (blocks: Blocks, columns: ReadonlyArray<GridColumn>) => {
      const rows = await Promise.all(Array.from(picked.values(), (row) => blocks.whole(row)))
      const shown = rows.map((row) => shownValues(row, columns))
      await copy(JSON.stringify(shown, null, 2), plural(picked.size, "row"))
    }
  }
}
