import { Link } from "@tanstack/react-router"
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { runDdl } from "../catalogue/ddl.ts"
import { qualifiedName } from "../catalogue/names.ts"
import { type Table, useCatalogue } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { plural } from "../ui/format.ts"
import { toast } from "../ui/toast.ts"
import { place } from "../wire/place.ts"
import { type Finding, nameOf } from "./kinds.ts"

/** Names that are shown at first. */
const few = 20

/** Tables that anon keys may read, which row-level security closes. */
const isOpen = ({ grants, row_level_security, type }: Table) =>
  type !== "foreign table" && !row_level_security.enabled && grants.anon.length > 0

const closeSql = (table: Table) => `alter table ${qualifiedName(table)} enable row level security`

const Close = ({ onClose, tables }: { tables: ReadonlyArray<Table>; onClose: () => void }) => {
  const client = useQueryClient()
  const bare = tables.filter(({ policies }) => policies.length === 0).length
  const statements = tables.map(closeSql)
  return (
    <Confirm
      title={`Turn on row-level security for ${plural(tables.length, "table")}?`}
      verb="Turn on"
      onClose={onClose}
      run={async () => {
        await runDdl(statements)
        toast(`Row-level security is on for ${plural(tables.length, "table")}`)
        await client.invalidateQueries({ queryKey: ["catalogue"] })
        await client.invalidateQueries({ queryKey: ["insights"] })
      }}
    >
      <p>
        Anon keys and users then see and write only what policies allow.{" "}
        {bare === 0
          ? null
          : `${plural(bare, "table")} of these ${bare === 1 ? "has" : "have"} no policy: apps see none of ${bare === 1 ? "its" : "their"} rows until you add one.`}{" "}
        All tables are changed, or none. Service keys go on as before.
      </p>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls */}
      <pre tabIndex={0} role="region" aria-label="SQL">
        {statements.map((statement) => `${statement};`).join("\n")}
      </pre>
    </Confirm>
  )
}

interface OpenTablesProps {
  /** Of tables, not of foreign ones. */
  readonly findings: ReadonlyArray<Finding>
  /** There are more than the service lists. */
  readonly truncated: boolean
  /** Whether the tables have no cards of their own. */
  readonly listed: boolean
}

/** All tables that are open to anon keys, and the one remedy for them. */
export const OpenTables = ({ findings, listed, truncated }: OpenTablesProps) => {
  const catalogue = useCatalogue()
  const [closing, setClosing] = useState(false)
  const [all, setAll] = useState(false)
  const tables = catalogue.data?.tables.filter(isOpen) ?? []
  const shown = all ? findings : findings.slice(0, few)
  return (
    <div className="open-tables">
      {listed ? (
        <ul aria-label="Open tables">
          {shown.map(({ object }) => (
            <li key={nameOf(object)}>
              <Link to="/policies/$schema/$table" params={{ schema: object.schema ?? "", table: object.name }}>
                {nameOf(object)}
              </Link>
            </li>
          ))}
        </ul>
      ) : null}
      <div className="insight-actions">
        {/* The catalogue of a branch is not what was checked. */}
        {place.branch !== undefined || tables.length === 0 ? null : (
          <Button kind="main" icon="lock" onClick={() => setClosing(true)}>
            Close {plural(tables.length, "table")}…
          </Button>
        )}
        {listed && findings.length > shown.length ? (
          <Button kind="quiet" onClick={() => setAll(true)}>
            Show {findings.length}
            {truncated ? " of more" : ""}
          </Button>
        ) : null}
      </div>
      {closing ? <Close tables={tables} onClose={() => setClosing(false)} /> : null}
    </div>
  )
}
