import type { Table } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { plural } from "../ui/format.ts"
import { Icon } from "../ui/Icon.tsx"
import { Menu, MenuItem, Popover } from "../ui/Popover.tsx"
import { copy } from "../ui/toast.ts"
import type { GridColumn } from "./grid/columns.ts"
import { type Filter, filterWords } from "./rows/filters.ts"
import { FilterForm } from "./FilterForm.tsx"

/** Whether anon keys may read the table: the loudest fact about it. */
const Security = ({ table }: { table: Table }) =>
  table.row_level_security.enabled ? (
    <span className="badge good only-wide" title="Row-level security is on: anon keys see what the policies allow">
      <Icon name="lock" size={12} /> {table.policies.length} {table.policies.length === 1 ? "policy" : "policies"}
    </span>
  ) : (
    <span
      className="badge warn only-wide"
      title="Row-level security is off: every anon key may read and write all rows"
    >
      <Icon name="alert" size={12} /> Open to anon keys
    </span>
  )

const Chip = ({ filter: [column, value], onDrop }: { filter: Filter; onDrop: () => void }) => {
  const [words, operand] = filterWords(value)
  return (
    <li className="chip">
      <span>
        {column} <i>{words}</i> {operand}
      </span>
      <button type="button" aria-label={`Remove filter ${column} ${words} ${operand}`} onClick={onDrop}>
        <Icon name="x" size={13} />
      </button>
    </li>
  )
}

interface ToolbarProps {
  readonly table: Table | undefined
  readonly name: string
  readonly columns: ReadonlyArray<GridColumn>
  readonly hidden: ReadonlySet<string>
  readonly filters: ReadonlyArray<Filter>
  readonly picked: number
  readonly curl: () => string
  readonly onFilter: (filter: Filter) => void
  readonly onDropFilter: (filter: Filter) => void
  readonly onToggle: (column: string) => void
  readonly onRefresh: () => void
  readonly onCopyPicked: () => void
  readonly onDeletePicked: () => void
  readonly onInsert: () => void
}

export const Toolbar = (props: ToolbarProps) => {
  const { columns, filters, hidden, picked, table } = props
  return (
    <div className="toolbar">
      <Popover icon="filter" label="Add a filter" trigger="Filter">
        {(close) => (
          <FilterForm
            columns={columns}
            onAdd={(filter) => {
              props.onFilter(filter)
              close()
            }}
          />
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
          <Button icon="copy" kind="quiet" onClick={props.onCopyPicked}>
            Copy JSON
          </Button>
          {table === undefined || table.primary_key.length === 0 ? null : (
            <Button icon="trash" kind="quiet" onClick={props.onDeletePicked}>
              Delete
            </Button>
          )}
        </>
      )}
      {table === undefined ? null : <Security table={table} />}
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
      {table === undefined ? null : (
        <Button kind="main" icon="plus" onClick={props.onInsert}>
          Insert
        </Button>
      )}
    </div>
  )
}
