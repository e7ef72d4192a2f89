import { Link } from "@tanstack/react-router"
import { type Catalogue, type Column, enumValues, type ForeignKey, type Table, tableOf } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { Icon } from "../ui/Icon.tsx"
import { indexDrop, triggerDrop } from "./drops.ts"
import type { Drop } from "./forms/parts.tsx"
import type { SchemaDialog } from "./forms/Forms.tsx"

interface TableCardProps {
  readonly table: Table
  readonly catalogue: Catalogue
  /** Of the exposed schemas, whose tables have pages. */
  readonly open: Catalogue
  readonly act: (dialog: SchemaDialog) => void
  /** Names of indexes of constraints, which are dropped with them. */
  readonly constraints: ReadonlySet<string>
}

const nameOf = (schema: string, table: string, own: string) => (schema === own ? table : `${schema}.${table}`)

const Target = ({ open, own, reference }: { open: Catalogue; own: string; reference: ForeignKey }) => {
  const { columns, schema, table } = reference.references
  const name = `${nameOf(schema, table, own)} (${columns.join(", ")})`
  return tableOf(open, schema, table) === undefined ? (
    <code>{name}</code>
  ) : (
    <Link to="/tables/$schema/$table" params={{ schema, table }} search={{}}>
      {name}
    </Link>
  )
}

/** The service keeps its own, of subscriptions and webhooks, as their pages say. */
const isOwn = ({ definition }: Table["triggers"][number]) => definition?.includes("EXECUTE FUNCTION svc.") === true

interface DefinitionsProps {
  readonly name: string
  readonly all: Table["indexes"]
  /** Undefined: it can't be dropped here. */
  readonly drop?: (name: string) => Drop | undefined
  readonly act: TableCardProps["act"]
  readonly onAdd?: () => void
}

const Definitions = ({ act, all, drop = () => undefined, name, onAdd }: DefinitionsProps) =>
  all.length === 0 && onAdd === undefined ? null : (
    <section>
      <h4>
        {name}
        {onAdd === undefined ? null : (
          <Button kind="quiet" icon="plus" onClick={onAdd}>
            Add {name === "Indexes" ? "index" : "trigger"}
          </Button>
        )}
      </h4>
      <ul>
        {all.map((one) => {
          const dropped = drop(one.name)
          return (
            <li key={one.name}>
              <code>{one.definition ?? one.name}</code>
              {dropped === undefined ? null : (
                <Button
                  kind="quiet"
                  icon="trash"
                  label={`Drop ${one.name}`}
                  onClick={() => act({ tag: "drop", drop: dropped })}
                />
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )

const ColumnRow = ({
  catalogue,
  column,
  table
}: Pick<TableCardProps, "catalogue" | "table"> & { readonly column: Column }) => {
  const labels = enumValues(catalogue, column.type)
  const value =
    column.generated === null
      ? column.identity === null
        ? column.default
        : `generated ${column.identity} as identity`
      : `generated always as (${column.generated})`
  return (
    <tr>
      <th scope="row">
        {column.name}
        {table.primary_key.includes(column.name) ? (
          <span className="schema-key">
            <Icon name="pk" size={13} />
            <span className="sr">, primary key</span>
          </span>
        ) : null}
      </th>
      <td>
        <code>{column.type}</code>
        {labels === undefined ? null : <small title={labels.join(", ")}>{labels.slice(0, 8).join(" · ")}</small>}
      </td>
      <td>{column.nullable ? <span className="faint">nullable</span> : "not null"}</td>
      <td>{value === null ? null : <code>{value}</code>}</td>
    </tr>
  )
}

export const TableCard = ({ act, catalogue, constraints, open, table }: TableCardProps) => (
  <section className="card schema-table" aria-label={table.name}>
    <h3>
      {tableOf(open, table.schema, table.name) === undefined ? (
        <>
          {table.name}
          {table.type === "table" ? null : <span className="badge">{table.type}</span>}
        </>
      ) : (
        <>
          <Link to="/tables/$schema/$table" params={{ schema: table.schema, table: table.name }} search={{}}>
            {table.name}
          </Link>
          {table.type === "table" ? null : <span className="badge">{table.type}</span>}
          <Link
            className={`badge ${table.row_level_security.enabled ? "good" : "warn"}`}
            to="/policies/$schema/$table"
            params={{ schema: table.schema, table: table.name }}
          >
            {table.row_level_security.enabled
              ? `${table.policies.length} ${table.policies.length === 1 ? "policy" : "policies"}`
              : "no row-level security"}
          </Link>
        </>
      )}
      {table.comment === null ? null : <small>{table.comment}</small>}
    </h3>
    <div className="schema-scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Column</th>
            <th scope="col">Type</th>
            <th scope="col">Null</th>
            <th scope="col">Default</th>
          </tr>
        </thead>
        <tbody>
          {table.columns.map((column) => (
            <ColumnRow key={column.name} column={column} table={table} catalogue={catalogue} />
          ))}
        </tbody>
      </table>
    </div>
    <div className="schema-rest">
      {table.foreign_keys.length === 0 ? null : (
        <section>
          <h4>References</h4>
          <ul>
            {table.foreign_keys.map((reference) => (
              <li key={reference.name}>
                <code>{reference.columns.join(", ")}</code> →{" "}
                <Target open={open} own={table.schema} reference={reference} />
                {/cascade/i.test(reference.on_delete) ? <span className="badge warn">on delete cascade</span> : null}
              </li>
            ))}
          </ul>
        </section>
      )}
      <Definitions
        name="Indexes"
        all={table.indexes}
        drop={(name) => (constraints.has(name) ? undefined : indexDrop(table, name))}
        act={act}
        {...(table.type === "foreign table" ? {} : { onAdd: () => act({ tag: "index", table }) })}
      />
      <Definitions name="Checks" all={table.checks} act={act} />
      <Definitions
        name="Triggers"
        all={table.triggers.filter((one) => !isOwn(one))}
        drop={(name) => triggerDrop(table, name)}
        act={act}
        onAdd={() => act({ tag: "trigger", relation: table })}
      />
    </div>
  </section>
)
