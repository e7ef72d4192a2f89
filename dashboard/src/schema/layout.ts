import { Graph, layout } from "@dagrejs/dagre"
import type { Table } from "../catalogue/queries.ts"

/** Columns of a table that are drawn at most: keys and references first. */
export const mostColumns = 12
export const nodeWidth = 230
const headHeight = 34
const rowHeight = 22

export interface Placed {
  readonly id: string
  readonly table: Table
  readonly columns: ReadonlyArray<string>
  readonly hidden: number
  readonly x: number
  readonly y: number
}
export interface Line {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly label: string
}

const idOf = (schema: string, table: string) => `${schema}.${table}`

const columnsOf = (table: Table) => {
  const keys = new Set([...table.primary_key, ...table.foreign_keys.flatMap(({ columns }) => columns)])
  const names = table.columns.map(({ name }) => name)
  return [...names.filter((name) => keys.has(name)), ...names.filter((name) => !keys.has(name))].slice(0, mostColumns)
}

/** Places for tables so that references go from left to right, and the tables without any below all others. */
export const arranged = (
  tables: ReadonlyArray<Table>
): { readonly nodes: ReadonlyArray<Placed>; readonly lines: ReadonlyArray<Line> } => {
  const known = new Set(tables.map(({ name, schema }) => idOf(schema, name)))
  const lines = tables.flatMap((table) =>
    table.foreign_keys
      .map(({ columns, name, references }): Line => ({
        id: `${idOf(table.schema, table.name)} ${name}`,
        from: idOf(table.schema, table.name),
        to: idOf(references.schema, references.table),
        label: columns.join(", ")
      }))
      .filter(({ to }) => known.has(to))
  )
  const linked = new Set(lines.flatMap(({ from, to }) => [from, to]))
  const graph = new Graph()
  graph.setGraph({ rankdir: "LR", nodesep: 28, ranksep: 90, ranker: "tight-tree" })
  graph.setDefaultEdgeLabel(() => ({}))
  const heights = new Map<string, number>()
  for (const table of tables) {
    const id = idOf(table.schema, table.name)
    const more = table.columns.length > mostColumns ? 1 : 0
    const height = headHeight + rowHeight * (Math.min(mostColumns, table.columns.length) + more) + 6
    heights.set(id, height)
    if (linked.has(id)) graph.setNode(id, { width: nodeWidth, height })
  }
  // A table that refers to itself needs no place for that.
  for (const { from, to } of lines) if (from !== to) graph.setEdge(from, to)
  layout(graph)
  const places = new Map<string, { readonly x: number; readonly y: number }>()
  let bottom = 0
  for (const id of linked) {
    const { x, y } = graph.node(id) as { readonly x: number; readonly y: number }
    const height = heights.get(id) ?? 0
    places.set(id, { x: x - nodeWidth / 2, y: y - height / 2 })
    bottom = Math.max(bottom, y + height / 2)
  }
  const alone = tables.map(({ name, schema }) => idOf(schema, name)).filter((id) => !linked.has(id))
  const across = Math.max(3, Math.ceil(Math.sqrt(alone.length)))
  let top = bottom === 0 ? 0 : bottom + 60
  for (let at = 0; at < alone.length; at += across) {
    const row = alone.slice(at, at + across)
    for (const [column, id] of row.entries()) places.set(id, { x: column * (nodeWidth + 28), y: top })
    top += Math.max(...row.map((id) => heights.get(id) ?? 0)) + 28
  }
  return {
    nodes: tables.map((table) => {
      const id = idOf(table.schema, table.name)
      const columns = columnsOf(table)
      return {
        id,
        table,
        columns,
        hidden: table.columns.length - columns.length,
        ...(places.get(id) ?? { x: 0, y: 0 })
      }
    }),
    lines
  }
}
