import { useQueryClient } from "@tanstack/react-query"
import { useBlocker, useNavigate, useSearch } from "@tanstack/react-router"
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react"
import type { Catalogue, Facts } from "../catalogue/queries.ts"
import type { Search } from "../shell/search.ts"
import { Button } from "../ui/Button.tsx"
import { Empty } from "../ui/Empty.tsx"
import { plural } from "../ui/format.ts"
import { isMod, mod } from "../ui/keys.ts"
import { Problem } from "../ui/Problem.tsx"
import { copy, toast, toastError } from "../ui/toast.ts"
import { curlOf } from "../wire/curl.ts"
import { Blocks } from "./rows/blocks.ts"
import { gridColumns, type Relation, selectOf } from "./grid/columns.ts"
import { DeleteRows } from "./DeleteRows.tsx"
import { countEdits, type Edits, rowId, withEdit } from "./rows/edits.ts"
import { filtersOf, orderOf, withFilter, withNextOrder, withoutFilter } from "./rows/filters.ts"
import { Grid } from "./grid/Grid.tsx"
import { useKeptColumns } from "./kept.ts"
import type { Row } from "./rows/keyset.ts"
import { Review } from "./Review.tsx"
import { RowForm } from "./RowForm.tsx"
import { RowPanel } from "./RowPanel.tsx"
import { StatusBar } from "./StatusBar.tsx"
import { Toolbar } from "./Toolbar.tsx"

const noKey = "This table has no primary key, so its rows can't be identified: change it with SQL"
const isView = "The rows of a view can't be changed here: change its tables, or use SQL"

interface SheetProps {
  readonly catalogue: Catalogue
  readonly facts: Facts | undefined
  readonly relation: Relation
}

const useBlocks = ({ name, schema, table }: Relation, select: string, search: Search) => {
  const asked = JSON.stringify([schema, name, select, search])
  const blocks = useMemo(() => {
    const chosen = orderOf(search)
    const keys = table?.primary_key ?? []
    // In the direction of the first column, so that an index on both serves it.
    const rest = keys.filter((key) => !chosen.some(({ column }) => column === key))
    return new Blocks({
      path: `/v1/db/${encodeURIComponent(name)}`,
      schema,
      select,
      filters: filtersOf(search),
      order: [...chosen, ...rest.map((column) => ({ column, desc: chosen[0]?.desc ?? false }))],
      total: keys.length > 0,
      nullable: new Set(table?.columns.filter((one) => one.nullable).map((one) => one.name))
    })
    // Everything that it is made of is in `asked`.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [asked])
  useEffect(() => () => blocks.close(), [blocks])
  useSyncExternalStore(blocks.subscribe, blocks.snapshot)
  return blocks
}

/** The rows of a table or view. */
export const Sheet = ({ catalogue, facts, relation }: SheetProps) => {
  const { name, schema, table } = relation
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const client = useQueryClient()
  const kept = useKeptColumns(schema, name)
  const [edits, setEdits] = useState<Edits>(new Map())
  const [picked, setPicked] = useState<ReadonlyMap<string, Row>>(new Map())
  const [open, setOpen] = useState<Row>()
  const [dialog, setDialog] = useState<"review" | "delete" | "insert">()
  const sheet = useRef<HTMLElement>(null)

  const all = gridColumns(catalogue, relation, facts, kept.widths)
  const columns = all.filter((column) => !kept.hidden.has(column.name))
  const blocks = useBlocks(relation, selectOf(all, schema), search)
  const filters = filtersOf(search)
  const idOf = (row: Row) => (table === undefined ? JSON.stringify(row) : rowId(table, row))
  const readOnly = table === undefined ? isView : table.primary_key.length === 0 ? noKey : undefined
  const changes = countEdits(edits)

  useBlocker({
    shouldBlockFn: ({ current, next }) =>
      // Filters and sorting keep the changes; another table would lose them.
      changes > 0 &&
      current.pathname !== next.pathname &&
      !confirm(`Leave and discard ${plural(changes, "unsaved change")}?`),
    enableBeforeUnload: changes > 0
  })
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "s" || !isMod(event)) return
      event.preventDefault()
      if (changes > 0) setDialog("review")
    }
    addEventListener("keydown", keys)
    return () => removeEventListener("keydown", keys)
  }, [changes])

  const go = (next: Search) =>
    void navigate({ to: "/tables/$schema/$table", params: { schema, table: name }, search: next })
  const refresh = () => {
    blocks.refresh().catch(toastError)
    void client.invalidateQueries({ queryKey: ["facts"] })
  }
  const focusGrid = () => sheet.current?.querySelector<HTMLElement>(".grid")?.focus()
  const pick = (row: Row, on: boolean) => {
    const next = new Map(picked)
    if (on) next.set(idOf(row), row)
    else next.delete(idOf(row))
    setPicked(next)
  }
  const saved = () => {
    toast(`${plural(edits.size, "row")} saved`)
    setEdits(new Map())
    setDialog(undefined)
    refresh()
    focusGrid()
  }
  const inserted = () => {
    toast("Row inserted")
    refresh()
  }
  const curl = () => curlOf(blocks.url, schema === "public" ? {} : { "accept-profile": schema })

  return (
    <section className="sheet" aria-label={`${schema}.${name}`} ref={sheet}>
      <Toolbar
        table={table}
        name={`${schema}.${name}`}
        columns={all}
        hidden={kept.hidden}
        filters={filters}
        picked={picked.size}
        curl={curl}
        onFilter={(filter) => go(withFilter(search, filter))}
        onDropFilter={(filter) => go(withoutFilter(search, filter))}
        onToggle={kept.toggle}
        onRefresh={refresh}
        onCopyPicked={() => void copy(JSON.stringify(Array.from(picked.values()), null, 2), plural(picked.size, "row"))}
        onDeletePicked={() => setDialog("delete")}
        onInsert={() => {
          setOpen(undefined)
          setDialog("insert")
        }}
      />
      {blocks.failure !== undefined && !blocks.ready ? (
        <div className="fill">
          <Problem error={blocks.failure} title="The rows could not be read" onRetry={refresh} />
        </div>
      ) : blocks.ready && blocks.length === 0 ? (
        <Empty
          icon="table"
          title={filters.length === 0 ? "No rows yet" : "No row matches"}
          action={
            filters.length > 0 ? (
              <Button onClick={() => go({})}>Clear filters</Button>
            ) : table === undefined ? undefined : (
              <Button kind="main" icon="plus" onClick={() => setDialog("insert")}>
                Insert a row
              </Button>
            )
          }
        >
          {filters.length === 0 ? `Insert one here, or POST to /v1/db/${name}.` : "Remove a filter to see more rows."}
        </Empty>
      ) : (
        <Grid
          label={`Rows of ${schema}.${name}`}
          blocks={blocks}
          columns={columns}
          order={orderOf(search)}
          readOnly={readOnly}
          editsOf={(row) => edits.get(idOf(row))?.values}
          isPicked={(row) => picked.has(idOf(row))}
          onPick={pick}
          onSort={(column) => go(withNextOrder(search, column))}
          onChange={(change) => {
            if (table !== undefined) setEdits(withEdit(edits, table, change))
          }}
          onFollow={({ foreign }, value) => {
            if (foreign === undefined) return
            const { columns, schema, table } = foreign.references
            void navigate({
              to: "/tables/$schema/$table",
              params: { schema, table },
              search: { [columns[0] ?? ""]: `eq.${String(value)}` }
            })
          }}
          onOpen={(row) => {
            setDialog(undefined)
            setOpen(row)
          }}
          onResize={kept.resize}
        />
      )}
      {changes === 0 ? null : (
        <div className="changes" role="region" aria-label="Unsaved changes">
          <span>
            <b>{changes}</b> unsaved {changes === 1 ? "change" : "changes"}
          </span>
          <Button kind="quiet" icon="undo" onClick={() => setEdits(new Map())}>
            Discard
          </Button>
          <Button kind="main" keys={`${mod}S`} onClick={() => setDialog("review")}>
            Review and save
          </Button>
        </div>
      )}
      <StatusBar blocks={blocks} bytes={facts?.sizes[`${schema}.${name}`]?.bytes} curl={curl} />
      {open === undefined ? null : (
        <RowPanel
          catalogue={catalogue}
          relation={relation}
          columns={all}
          row={open}
          onClose={() => {
            setOpen(undefined)
            focusGrid()
          }}
        />
      )}
      {dialog === "insert" ? (
        <RowForm
          relation={relation}
          columns={all}
          onSaved={inserted}
          onClose={() => {
            setDialog(undefined)
            focusGrid()
          }}
        />
      ) : null}
      {dialog === "review" && table !== undefined ? (
        <Review table={table} edits={edits} onSaved={saved} onClose={() => setDialog(undefined)} />
      ) : null}
      {dialog === "delete" && table !== undefined ? (
        <DeleteRows
          catalogue={catalogue}
          table={table}
          rows={Array.from(picked.values())}
          onDeleted={() => {
            setPicked(new Map())
            refresh()
          }}
          onClose={() => setDialog(undefined)}
        />
      ) : null}
    </section>
  )
}
