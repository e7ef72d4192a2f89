import { useQueryClient } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react"
import { qualifiedName } from "../catalogue/names.ts"
import type { Catalogue } from "../catalogue/queries.ts"
import { pairsOf, type Search, searchOf } from "../shell/search.ts"
import { plural } from "../ui/format.ts"
import { isMod } from "../ui/keys.ts"
import { Notice } from "../ui/page/Notice.tsx"
import { Problem } from "../ui/Problem.tsx"
import { mayDiscard, useUnsaved } from "../ui/page/unsaved.ts"
import { toast, toastError, toastUndo } from "../ui/toast.ts"
import { curlOf } from "../wire/curl.ts"
import { place } from "../wire/place.ts"
import { type Viewer, viewerCredentials } from "../wire/viewer.ts"
import type { Item } from "../workspace/items.ts"
import { useBlocks } from "./rows/useBlocks.ts"
import type { Peek } from "./panel/ReferencePanel.tsx"
import { type GridColumn, gridColumns, type Relation, selectOf } from "./grid/columns.ts"
import { type CellChange, conflictsOf, countEdits, countWrong, freshIn, savableOf } from "./rows/edits.ts"
import { filtersOf, orderOf, withFilter, withNextOrder, withoutFilter } from "./rows/filters.ts"
import type { Cell } from "./grid/CellMenu.tsx"
import { Grid } from "./grid/Grid.tsx"
import { useKeptColumns } from "./views/kept.ts"
import { freshRow, isPlaced, keyOf, type Row, rowId } from "./rows/identity.ts"
import type { Refused } from "./rows/refusals.ts"
import { type SheetDialog, SheetDialogs } from "./SheetDialogs.tsx"
import { StatusBar } from "./StatusBar.tsx"
import { Toolbar } from "./Toolbar.tsx"
import { usePicked } from "./usePicked.ts"
import { useLive } from "./live/useLive.ts"
import { follow, useSubscriptions } from "../catalogue/subscriptions.ts"
import { useStaged } from "./useStaged.ts"

// Not needed for the first rows, so each is loaded when it is first opened.
const CellMenu = lazy(async () => ({ default: (await import("./grid/CellMenu.tsx")).CellMenu }))
const NoRows = lazy(async () => ({ default: (await import("./NoRows.tsx")).NoRows }))
const Changes = lazy(async () => ({ default: (await import("./Changes.tsx")).Changes }))
const Compare = lazy(async () => ({ default: (await import("./live/Compare.tsx")).Compare }))
const ReferencePanel = lazy(async () => ({
  default: (await import("./panel/ReferencePanel.tsx")).ReferencePanel
}))
const RowPanel = lazy(async () => ({ default: (await import("./panel/RowPanel.tsx")).RowPanel }))

const noKey =
  "This table has no primary key, and its rows are stored in other tables, so they can't be identified: change them with SQL"
const placed = "This table has no primary key: a change is saved only if every value of its row is still as it was read"
const asOther = "Rows that are shown as another caller sees them can't be changed"
const isView = "The rows of a view can't be changed here: change its tables, or use SQL"

interface SheetProps {
  readonly catalogue: Catalogue
  readonly relation: Relation
  readonly viewer: Viewer
}

/** The rows of a table or view. */
export const Sheet = ({ catalogue, relation, viewer }: SheetProps) => {
  const { name, schema, table } = relation
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const client = useQueryClient()
  const kept = useKeptColumns(schema, name)
  const [view, setView] = useState<Item>()
  const staged = useStaged(table)
  const { edits } = staged
  const [size, setSize] = useState<string>()
  const [refused, setRefused] = useState<Refused>()
  const [open, setOpen] = useState<Row>()
  const [dialog, setDialog] = useState<SheetDialog>()
  /** The row of another table that is shown beside this one. */
  const [peek, setPeek] = useState<Peek>()
  const [menu, setMenu] = useState<Cell>()
  const [deleted, setDeleted] = useState<ReadonlyArray<Row>>([])
  const [like, setLike] = useState<Row>()
  /** Whether the form of a new row has something to lose. */
  const typed = useRef(false)
  const [setTyped] = useState(() => (now: boolean) => void (typed.current = now))
  const sheet = useRef<HTMLElement>(null)

  // The same from rendering to rendering, or each page of rows that arrives would render every row that is in view.
  const { hidden, labels, widths } = kept
  const all = useMemo(() => gridColumns(catalogue, relation, widths, labels), [catalogue, relation, widths, labels])
  const { order } = kept
  const columns = useMemo(() => {
    const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length)
    return all.filter(({ name }) => !hidden.has(name)).toSorted((one, other) => place(one.name) - place(other.name))
  }, [all, hidden, order])
  const move = (column: string, by: number) =>
    kept.move(
      columns.map((one) => one.name),
      column,
      by
    )
  const blocks = useBlocks(relation, selectOf(all, relation), search, viewer)
  const filters = filtersOf(search)
  const key = keyOf(table)
  const idOf = (row: Row) => (table === undefined || key.length === 0 ? JSON.stringify(row) : rowId(table, row))
  const picked = usePicked(idOf)
  const readOnly =
    viewer.role !== "service_role" ? asOther : table === undefined ? isView : key.length === 0 ? noKey : undefined
  const subscriptions = useSubscriptions(false)
  const follows = subscriptions.data?.some((one) => one.schema === schema && one.table === name) ?? false
  const live = useLive(blocks, table, edits, follows && viewer.role === "service_role")
  const conflicts = Array.from(edits).reduce((sum, [id, edit]) => sum + conflictsOf(edit, live.theirsOf(id)).length, 0)
  const [comparing, setComparing] = useState(false)
  const changes = countEdits(edits)
  const [blank, setBlank] = useState(freshRow)
  // What was empty is a new row now, and another one follows it.
  if (table !== undefined && edits.has(rowId(table, blank))) setBlank(freshRow())
  const { ready } = blocks
  const fresh = useMemo(
    () => (readOnly === undefined && ready ? [...freshIn(edits), blank] : []),
    [readOnly, ready, edits, blank]
  )

  const empty = blocks.ready && blocks.length === 0 && fresh.length < 2

  // Filters and sorting keep the changes; another table would lose them.
  useUnsaved(changes === 0 ? undefined : `Leave and discard ${plural(changes, "unsaved change")}?`, true)
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
    void client.invalidateQueries({ queryKey: ["catalogue"] })
  }
  const focusGrid = () => sheet.current?.querySelector<HTMLElement>(".grid")?.focus()
  /** Whether the panel that is open may be replaced by another one. */
  const mayReplace = async () =>
    peek !== undefined
      ? await mayDiscard(typed.current, `the changes of ${peek.table.name}`)
      : dialog !== "insert" || (await mayDiscard(typed.current, "the new row"))
  const openRow = async (row: Row) => {
    if (!(await mayReplace())) return
    setDialog(undefined)
    setPeek(undefined)
    setOpen(row)
  }
  const openReferred = async ({ foreign }: GridColumn, value: unknown) => {
    if (foreign?.table === undefined) return
    if (!(await mayReplace())) return
    setDialog(undefined)
    setOpen(undefined)
    setPeek({ table: foreign.table, column: foreign.references.columns[0] ?? "", value })
  }
  const insertLike = async (row: Row) => {
    if (!(await mayReplace())) return
    setLike(row)
    setOpen(undefined)
    setPeek(undefined)
    setDialog("insert")
  }
  const stage = (changes: ReadonlyArray<CellChange>) => {
    setRefused(undefined)
    staged.stage(changes)
  }
  const remove = (rows: ReadonlyArray<Row>) => {
    setDeleted(rows)
    setDialog("delete")
  }
  const saved = () => {
    toast(`${plural(table === undefined ? 0 : savableOf(edits, table).size, "row")} saved`)
    staged.saved()
    setRefused(undefined)
    setDialog(undefined)
    refresh()
    focusGrid()
  }
  const discard = () => {
    setRefused(undefined)
    staged.step(() => new Map())
    focusGrid()
    // What has been changed meanwhile stays as well.
    toastUndo(`${plural(changes, "change")} discarded`, () => staged.step((now) => new Map([...edits, ...now])))
  }
  const inserted = () => {
    toast("Row inserted")
    refresh()
  }
  const curl = () =>
    curlOf(blocks.url, schema === "public" ? {} : { "accept-profile": schema }, viewerCredentials(viewer))

  return (
    <section
      className={`sheet ${viewer.role === "service_role" ? "" : "as"}`}
      aria-label={`${schema}.${name}`}
      ref={sheet}
    >
      <Toolbar
        table={table}
        name={`${schema}.${name}`}
        columns={all}
        hidden={hidden}
        filters={filters}
        picked={picked.rows.length}
        viewer={viewer}
        curl={curl}
        view={view}
        viewContent={{ schema, table: name, search: pairsOf(search), ...kept.columns }}
        onView={(view, opened) => {
          setView(view)
          if (!opened || !("table" in view.content)) return
          kept.show(view.content)
          go(searchOf(view.content.search))
        }}
        onFilter={(filter) => go(withFilter(search, filter))}
        onDropFilter={(filter) => go(withoutFilter(search, filter))}
        onToggle={kept.toggle}
        onRefresh={refresh}
        onCopyPicked={() => void picked.copy(blocks, all).catch(toastError)}
        onOpenPicked={() => {
          const [row] = picked.rows
          if (row !== undefined) void openRow(row)
        }}
        onOpen={(next) => {
          void mayReplace().then((may) => {
            if (!may) return
            setOpen(undefined)
            setPeek(undefined)
            setLike(undefined)
            if (next === "delete") remove(picked.rows)
            else setDialog(next)
          })
        }}
      />
      {blocks.failure !== undefined && blocks.ready ? (
        <Notice error={blocks.failure} title="Some rows could not be read" onRetry={refresh} />
      ) : null}
      {blocks.failure !== undefined && !blocks.ready ? (
        <div className="fill">
          <Problem error={blocks.failure} title="The rows could not be read" onRetry={refresh} />
        </div>
      ) : empty && (readOnly !== undefined || filters.length > 0) ? (
        <Suspense>
          <NoRows
            relation={relation}
            filtered={filters.length > 0}
            viewer={viewer}
            onClear={() => go({})}
            onOpen={setDialog}
          />
        </Suspense>
      ) : (
        <Grid
          label={`Rows of ${schema}.${name}`}
          blocks={blocks}
          columns={columns}
          order={orderOf(search)}
          readOnly={readOnly}
          keyed={!isPlaced(table)}
          name={qualifiedName({ schema, name })}
          fresh={fresh}
          editOf={(row) => edits.get(idOf(row))}
          refusedIn={(row) => (refused !== undefined && refused.row === idOf(row) ? (refused.column ?? "") : undefined)}
          live={live}
          idOf={idOf}
          isPicked={picked.has}
          onPick={picked.pick}
          onSort={(column, add) => go(withNextOrder(search, column, add))}
          fixed={Math.min(kept.fixed, columns.length)}
          onMove={move}
          onStage={stage}
          onRemove={(rows) => staged.remove(rows)}
          onUndo={staged.undo}
          onRedo={staged.redo}
          onRange={setSize}
          onFollow={({ foreign }, value) => {
            if (foreign === undefined) return
            const { columns, schema, table } = foreign.references
            void navigate({
              to: "/tables/$schema/$table",
              params: { schema, table },
              search: withFilter({}, [columns[0] ?? "", `eq.${String(value)}`])
            })
          }}
          onOpen={openRow}
          onMenu={({ column: name, ...cell }) => {
            const column = columns.find((one) => one.name === name)
            if (column !== undefined) setMenu({ column, ...cell })
          }}
          onResize={kept.resize}
        />
      )}
      {empty && readOnly === undefined && filters.length === 0 && blocks.failure === undefined ? (
        // Below the empty row of the grid, which takes what is typed or pasted.
        <div className="no-rows">
          <Suspense>
            <NoRows relation={relation} filtered={false} viewer={viewer} onClear={() => go({})} onOpen={setDialog} />
          </Suspense>
        </div>
      ) : null}
      {changes === 0 ? null : (
        <Suspense>
          <Changes
            changes={changes}
            wrong={countWrong(edits)}
            onUndo={staged.canUndo ? staged.undo : undefined}
            onRedo={staged.canRedo ? staged.redo : undefined}
            onDiscard={discard}
            onReview={() => setDialog("review")}
          />
        </Suspense>
      )}
      <StatusBar
        blocks={blocks}
        table={relation.table}
        selected={size}
        live={live}
        conflicts={conflicts}
        onCompare={() => setComparing(true)}
        onFollow={
          table === undefined ||
          viewer.role !== "service_role" ||
          follows ||
          !subscriptions.isSuccess ||
          place.branch !== undefined
            ? undefined
            : () => void follow(client, { schema, table: name }).catch(toastError)
        }
        note={viewer.role === "service_role" ? (readOnly ?? (isPlaced(table) ? placed : undefined)) : undefined}
        curl={curl}
      />
      {!comparing ? null : (
        <Suspense>
          <Compare
            edits={edits}
            columns={all}
            theirsOf={live.theirsOf}
            onStep={(next) => {
              setRefused(undefined)
              staged.step(next)
              void live.show().catch(toastError)
            }}
            onClose={() => {
              setComparing(false)
              focusGrid()
            }}
          />
        </Suspense>
      )}
      {peek === undefined ? null : (
        <Suspense>
          <ReferencePanel
            key={JSON.stringify([peek.table.schema, peek.table.name, peek.value])}
            catalogue={catalogue}
            peek={peek}
            viewer={viewer}
            onTyped={setTyped}
            onSaved={refresh}
            onClose={() => {
              setTyped(false)
              setPeek(undefined)
              focusGrid()
            }}
          />
        </Suspense>
      )}
      {open === undefined ? null : (
        <Suspense>
          <RowPanel
            onPeek={(column, value) => void openReferred(column, value)}
            catalogue={catalogue}
            relation={relation}
            columns={all}
            row={open}
            blocks={blocks}
            viewer={viewer}
            onClose={() => {
              setOpen(undefined)
              focusGrid()
            }}
          />
        </Suspense>
      )}
      <SheetDialogs
        open={dialog}
        catalogue={catalogue}
        relation={relation}
        blocks={blocks}
        all={all}
        columns={columns}
        edits={edits}
        deleted={deleted}
        like={like}
        onTyped={setTyped}
        onSaved={saved}
        onRefused={setRefused}
        onConflict={live.compare}
        onInserted={inserted}
        onImported={refresh}
        onDeleted={() => {
          const gone = new Set(deleted.map(idOf))
          picked.forget(gone)
          staged.forget(gone)
          refresh()
        }}
        onClose={() => {
          setDialog(undefined)
          setLike(undefined)
          if (dialog === "insert") focusGrid()
        }}
      />
      {menu === undefined ? null : (
        <Suspense>
          <CellMenu
            cell={menu}
            columns={all}
            blocks={blocks}
            keyed={!isPlaced(table)}
            fixed={kept.fixed}
            at={columns.findIndex((one) => one.name === menu.column.name)}
            onPin={kept.pin}
            onMove={(by) => move(menu.column.name, by)}
            onLabel={(label) => kept.label(menu.column.name, label)}
            changeable={readOnly === undefined}
            insertable={table !== undefined && viewer.role === "service_role"}
            onFilter={(filter) => go(withFilter(search, filter))}
            onChange={(change) => stage([change])}
            onOpen={() => void openRow(menu.row)}
            onPeek={(column, value) => void openReferred(column, value)}
            onInsertLike={insertLike}
            onDelete={() => remove([menu.row])}
            onClose={() => {
              setMenu(undefined)
              focusGrid()
            }}
          />
        </Suspense>
      )}
    </section>
  )
}
