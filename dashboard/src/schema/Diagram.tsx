import "./diagram.css"
import { useNavigate } from "@tanstack/react-router"
import { Background, Controls, type Edge, Handle, MarkerType, type Node, Position, ReactFlow } from "@xyflow/react"
import { useMemo } from "react"
import type { Table } from "../catalogue/queries.ts"
import { Icon } from "../ui/Icon.tsx"
import { arranged, mostColumns, nodeWidth, type Placed } from "./layout.ts"

type TableNode = Node<{ readonly placed: Placed }, "table">

const TableBox = ({ data: { placed } }: { data: TableNode["data"] }) => {
  const { columns, hidden, table } = placed
  const types = new Map(table.columns.map(({ name, type }) => [name, type]))
  const references = new Set(table.foreign_keys.flatMap((one) => one.columns))
  return (
    <div className="diagram-table" style={{ width: nodeWidth }}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <b>
        <span>{table.name}</span>
        {table.row_level_security.enabled ? <Icon name="lock" size={12} /> : null}
      </b>
      {columns.map((name) => (
        <span key={name} className="diagram-column">
          {table.primary_key.includes(name) ? (
            <Icon name="pk" size={12} />
          ) : references.has(name) ? (
            <Icon name="link" size={12} />
          ) : (
            <i />
          )}
          <span>{name}</span>
          <code>{types.get(name)}</code>
        </span>
      ))}
      {hidden > 0 ? <span className="diagram-column faint">and {hidden} more columns</span> : null}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  )
}

const nodeTypes = { table: TableBox }

/** The tables of a schema and their references. The list beside it has the same for those who don't see pictures. */
export const Diagram = ({ opens, tables }: { opens: boolean; tables: ReadonlyArray<Table> }) => {
  const navigate = useNavigate()
  const { edges, nodes } = useMemo(() => {
    const { lines, nodes: placed } = arranged(tables)
    return {
      nodes: placed.map((one): TableNode => ({
        id: one.id,
        type: "table",
        position: { x: one.x, y: one.y },
        data: { placed: one },
        ariaLabel: `Table ${one.table.name}, ${one.table.columns.length} columns.${opens ? " Enter opens it." : ""}`
      })),
      edges: lines.map(({ from, id, label, to }): Edge => ({
        id,
        source: from,
        target: to,
        type: "smoothstep",
        focusable: false,
        ariaLabel: `${from} refers to ${to} by ${label}`,
        markerEnd: { type: MarkerType.ArrowClosed }
      }))
    }
  }, [opens, tables])
  const open = (id: string) => {
    const found = nodes.find((node) => node.id === id)?.data.placed.table
    if (found === undefined || !opens) return
    void navigate({ to: "/tables/$schema/$table", params: { schema: found.schema, table: found.name }, search: {} })
  }
  return (
    <section
      className="diagram"
      aria-label={`Diagram; each table shows ${mostColumns} columns at most`}
      // Enter on a table that has the focus; the picture itself only pans and zooms.
      onKeyDown={(event) => {
        const id = (event.target as HTMLElement).closest(".react-flow__node")?.getAttribute("data-id")
        if (event.key === "Enter" && id != null) open(id)
      }}
    >
      <ReactFlow
        key={nodes.map(({ id }) => id).join(" ")}
        defaultNodes={nodes}
        defaultEdges={edges}
        nodeTypes={nodeTypes}
        onNodeDoubleClick={(_event, node) => open(node.id)}
        zoomOnDoubleClick={false}
        nodesConnectable={false}
        deleteKeyCode={null}
        minZoom={0.05}
        fitView
        fitViewOptions={{ maxZoom: 1 }}
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </section>
  )
}
