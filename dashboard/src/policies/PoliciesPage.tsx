import "./policies.css"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { type Table, useCatalogue } from "../catalogue/queries.ts"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { Icon } from "../ui/Icon.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { Problem } from "../ui/Problem.tsx"
import { Warnings } from "./Warnings.tsx"

/** Tables that are listed at most; the others are found by typing. */
const most = 300

const State = ({ grants, policies, row_level_security: security }: Table) =>
  !security.enabled ? (
    grants.anon.length > 0 ? (
      <span className="badge warn">
        <Icon name="alert" size={12} /> open to anon keys
      </span>
    ) : (
      <span className="badge">off, nothing granted to anon</span>
    )
  ) : policies.length === 0 ? (
    <span className="badge">
      <Icon name="lock" size={12} /> closed: no policy
    </span>
  ) : (
    <span className="badge good">
      <Icon name="lock" size={12} /> on
    </span>
  )

const columns: ReadonlyArray<ListColumn<Table>> = [
  {
    name: "Table",
    cell: ({ name, schema }) => (
      <Link to="/policies/$schema/$table" params={{ schema, table: name }}>
        {schema === "public" ? name : `${schema}.${name}`}
      </Link>
    )
  },
  { name: "Row-level security", cell: (table) => <State {...table} /> },
  {
    name: "Policies",
    cell: ({ policies }) =>
      policies.length === 0 ? <span className="faint">none</span> : policies.map(({ name }) => name).join(", ")
  },
  {
    name: "Granted to anon",
    cell: ({ grants }) => <small className="faint">{grants.anon.join(" ").toLowerCase()}</small>
  }
]

export const PoliciesPage = () => {
  const catalogue = useCatalogue()
  const [words, setWords] = useState("")
  const all = catalogue.data?.tables ?? []
  const found = all
    .filter(({ name }) => name.toLowerCase().includes(words.toLowerCase().trim()))
    // What is open comes first.
    .toSorted((a, b) => Number(a.row_level_security.enabled) - Number(b.row_level_security.enabled))
  return (
    <div className="page">
      <div className="page-head">
        <h2>Policies</h2>
        <CopyRequest path="/v1/database/schema" />
      </div>
      <p className="lead">
        The <b>anon</b> key is part of every app, so only row-level security protects rows from others who have it. A
        policy says which rows a role may see and write. service_role keys bypass them.
      </p>
      {catalogue.data === undefined ? null : <Warnings warnings={catalogue.data.warnings} />}
      {catalogue.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : catalogue.isLoadingError ? (
        <Problem
          error={catalogue.error}
          title="The tables could not be read"
          onRetry={() => void catalogue.refetch()}
        />
      ) : all.length === 0 ? (
        <Empty icon="policy" title="No tables yet">
          Row-level security belongs to a table: make one in the SQL workbench or by a migration.
        </Empty>
      ) : (
        <>
          <input
            className="field policy-search"
            type="search"
            placeholder="Find a table"
            aria-label="Find a table"
            value={words}
            onChange={(event) => setWords(event.target.value)}
          />
          {found.length === 0 ? (
            <Empty icon="policy" title="No table matches">
              No table has these letters in its name.
            </Empty>
          ) : (
            <List
              label="Tables"
              columns={columns}
              rows={found.slice(0, most)}
              keyOf={({ name, schema }) => `${schema}.${name}`}
            />
          )}
          {found.length > most ? <p className="hint">{found.length - most} more: narrow the search down.</p> : null}
        </>
      )}
    </div>
  )
}
