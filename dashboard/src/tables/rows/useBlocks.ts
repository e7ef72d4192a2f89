import { useEffect, useMemo, useSyncExternalStore } from "react"
import type { Search } from "../../shell/search.ts"
import type { Viewer } from "../../wire/viewer.ts"
import { isJson, type Relation } from "../grid/columns.ts"
import { Blocks } from "./blocks.ts"
import { type Filter, filtersOf, orderOf } from "./filters.ts"
import { filterParameter } from "./keyset.ts"
import { cutPreference, isPlaced, keyOf } from "./identity.ts"

/** The rows that an address and a viewer ask for; they are read again when one of these changes. */
export const useBlocks = (
  { columns, name, schema, table }: Relation,
  select: string,
  search: Search,
  viewer: Viewer
) => {
  const asked = JSON.stringify([schema, name, select, search, viewer])
  const blocks = useMemo(() => {
    const chosen = orderOf(search)
    const named = new Set(columns.map((column) => column.name))
    const filters = filtersOf(search).map(([column, value]): Filter =>
      named.has(column) ? filterParameter(column, value) : [column, value]
    )
    const key = keyOf(table)
    const placed = isPlaced(table)
    // All rows are read as they are stored, which is the order of their places and needs no sorting.
    const keys = placed && chosen.length === 0 && filters.length === 0 ? [] : key
    // In the direction of the first column, so that an index on both serves it.
    const rest = keys.filter((key) => !chosen.some(({ column }) => column === key))
    return new Blocks({
      path: `/v1/db/${encodeURIComponent(name)}`,
      schema,
      select: placed ? `${select},${key.join()}` : select,
      filters,
      key,
      cut: cutPreference(columns),
      order: [...chosen, ...rest.map((column) => ({ column, desc: chosen[0]?.desc ?? false }))],
      total: keys.length > 0,
      json: new Set(columns.filter(({ type }) => isJson(type)).map((one) => one.name)),
      viewer,
      nullable: new Set(table?.columns.filter((one) => one.nullable).map((one) => one.name))
    })
    // Everything that it is made of is in `asked`.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [asked])
  useEffect(() => () => blocks.close(), [blocks])
  useSyncExternalStore(blocks.subscribe, blocks.snapshot)
  return blocks
}
