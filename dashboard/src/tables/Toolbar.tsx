import { Link } from "@tanstack/react-router"
import { lazy, Suspense } from "react"
import type { Table } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { plural } from "../ui/format.ts"
import { Icon } from "../ui/Icon.tsx"
import type { IconName } from "../ui/icons.ts"
import { Menu, MenuItem, Popover } from "../ui/Popover.tsx"
import { copy } from "../ui/toast.ts"
import { viewPlaceAs, ViewAs } from "../ui/page/ViewAs.tsx"
import type { Viewer } from "../wire/viewer.ts"
import type { Item, ViewContent } from "../workspace/items.ts"
import type { GridColumn } from "./grid/columns.ts"
import { type Filter, filterWords } from "./rows/filters.ts"
import { keyOf } from "./rows/identity.ts"
import { isGroup } from "./rows/keyset.ts"
import type { SheetDialog } from "./SheetDialogs.tsx"

const Views = lazy(async () => ({ default: (await import("./views/Views.tsx")).Views }))
const FilterForm = lazy(async () => ({ default: (await import("./FilterForm.tsx")).FilterForm }))

/** Whether anon keys may read the table: the loudest fact about it. Leads to its policies. */
const Security = ({ table: { name, policies, row_level_security: security, schema } }: { table: Table }) => (
  <Link
    to="/policies/$schema/$table"
    params={{ schema, table: name }}
    className={`badge ${security.enabled ? "good" : "warn"}`}
    title={
      security.enabled
        ? "Row-level security is on: anon keys see what the policies allow"
        : "Row-level security is off: every anon key may read and write all rows"
    }
  >
    <Icon name={security.enabled ? "lock" : "alert"} size={12} />{" "}
    {security.enabled ? `${policies.length} ${policies.length === 1 ? "policy" : "policies"}` : "Open to anon keys"}
  </Link>
)

const Chip = ({ filter: [column, value], onDrop }: { filter: Filter; onDrop: () => void }) => {
  const [words, operand] = filterWords(value)
  return (
    <li className="chip">
      <span>
        {isGroup(column, value) ? null : column} <i>{words}</i> {operand}
      </span>
      <button type="button" aria-label={`Remove filter ${column} ${words} ${operand}`} onClick={onDrop}>
        <Icon name="x" size={13} />
      </button>
    </li>
  )
}

interface Action {
  readonly dialog: SheetDialog
  readonly icon: IconName
  readonly words: string
  readonly danger: boolean
}
const action = (dialog: SheetDialog, icon: IconName, words: string, danger = false): Action => ({
  dialog,
  icon,
  words,
  danger
})
const forViews = [action("export", "download", "Export as CSV…")]
const forTables = [
  action("import", "upload", "Import CSV…"),
  ...forViews,
  action("alter", "schema", "Edit table…"),
  action("drop", "trash", "Drop table…", true)
]

interface ToolbarProps {
  readonly table: Table | undefined
  readonly name: string
  readonly columns: ReadonlyArray<GridColumn>
  readonly hidden: ReadonlySet<string>
  readonly filters: ReadonlyArray<Filter>
  readonly picked: number
  readonly viewer: Viewer
  readonly curl: () => string
  /** The view that was opened, or saved as. */
  readonly view: Item | undefined
  readonly viewContent: ViewContent
  readonly onView: (view: Item, opened: boolean) => void
  readonly onFilter: (filter: Filter) => void
  readonly onDropFilter: (filter: Filter) => void
  readonly onToggle: (column: string) => void
  readonly onRefresh: () => void
  readonly onCopyPicked: () => void
  /** The only row that is picked. */
  readonly onOpenPicked: () => void
  readonly onOpen: (dialog: SheetDialog) => void
}

export const Toolbar = (props: ToolbarProps) => {
  const { columns, filters, hidden, picked, table, viewer } = props
  const changeable = viewer.role === "service_role"
  const actions = table === undefined || !changeable ? forViews : forTables
  return (
    <div className="toolbar">
      <Popover icon="filter" label="Add a filter" trigger="Filter">
        {(close) => (
          <Suspense>
            <FilterForm
              columns={columns}
              onAdd={(filter) => {
                props.onFilter(filter)
                close()
              }}
            />
          </Suspense>
        )}
      </Popover>
      {filters.length === 0 ? null : (
        <ul className="chips" aria-label="Filters">
          {filters.map((filter) => (
            <Chip key={filter.join(" ")} filter={filter} onDrop={() => props.onDropFilter(filter)} />
          ))}
        </ul>
      )}
      <span className="grow" />
      {picked === 0 ? null : (
        <>
          <span className="badge accent">{plural(picked, "row")} selected</span>
          {picked > 1 ? null : (
            <Button icon="right" kind="quiet" onClick={props.onOpenPicked}>
              Open
            </Button>
          )}
          <Button icon="copy" kind="quiet" onClick={props.onCopyPicked}>
            Copy JSON
          </Button>
          {table === undefined || keyOf(table).length === 0 || !changeable ? null : (
            <Button icon="trash" kind="quiet" onClick={() => props.onOpen("delete")}>
              Delete
            </Button>
          )}
        </>
      )}
      {table === undefined ? null : <Security table={table} />}
      <ViewAs viewer={viewer} legend="Show rows as" onUse={viewPlaceAs} />
      <Popover icon="view" label="Views of this table" align="end" trigger={props.view?.name}>
        {(close) => (
          <Suspense>
            <Views opened={props.view} content={props.viewContent} onOpen={props.onView} close={close} />
          </Suspense>
        )}
      </Popover>
      <Popover icon="columns" label="Columns" align="end">
        {() => (
          <Menu>
            {columns.map(({ name, type }) => (
              <MenuItem key={name} checked={!hidden.has(name)} note={type} onClick={() => props.onToggle(name)}>
                {name}
              </MenuItem>
            ))}
          </Menu>
        )}
      </Popover>
      <Button icon="refresh" label="Read again" onClick={props.onRefresh} />
      <Popover icon="more" label="More" align="end">
        {(close) => (
          <Menu>
            {actions.map(({ danger, dialog, icon, words }) => (
              <MenuItem
                key={dialog}
                icon={icon}
                danger={danger}
                onClick={() => {
                  close()
                  props.onOpen(dialog)
                }}
              >
                {words}
              </MenuItem>
            ))}
            <hr />
            <MenuItem
              icon="code"
              onClick={() => {
                close()
                void copy(props.curl(), "Request")
              }}
            >
              Copy as curl
            </MenuItem>
            <MenuItem
              icon="sql"
              onClick={() => {
                close()
                void copy(`select * from ${props.name}`, "SQL")
              }}
            >
              Copy as SQL
            </MenuItem>
          </Menu>
        )}
      </Popover>
      {table === undefined || !changeable ? null : (
        <Button kind="main" icon="plus" onClick={() => props.onOpen("insert")}>
          Insert
        </Button>
      )}
    </div>
  )
}
