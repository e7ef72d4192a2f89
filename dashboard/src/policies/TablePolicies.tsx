import "./policies.css"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import { useState } from "react"
import { type Table, tableOf, useCatalogue } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { Problem } from "../ui/Problem.tsx"
import { dropSql, type Policy, securitySql } from "./policy.ts"
import { PolicyForm } from "./PolicyForm.tsx"
import { RunDdl } from "./RunDdl.tsx"
import { Tester } from "./Tester.tsx"

type Open =
  | { readonly tag: "form"; readonly policy: Policy | undefined }
  | { readonly tag: "drop"; readonly policy: Policy }
  | { readonly tag: "security" }

const columnsOf = (act: (open: Open) => void): ReadonlyArray<ListColumn<Policy>> => [
  {
    name: "Policy",
    cell: ({ name, permissive }) => (
      <>
        <b>{name}</b> {permissive ? null : <span className="badge warn">restrictive</span>}
      </>
    )
  },
  { name: "For", cell: ({ command }) => <span className="badge">{command}</span> },
  { name: "To", cell: ({ roles }) => roles.join(", ") },
  { name: "Rows (using)", cell: ({ using }) => (using === null ? "" : <code>{using}</code>) },
  { name: "New rows (check)", cell: ({ check }) => (check === null ? "" : <code>{check}</code>) },
  {
    name: "Actions",
    actions: true,
    cell: (policy) => (
      <>
        <Button kind="quiet" onClick={() => act({ tag: "form", policy })}>
          Edit
        </Button>
        <Button kind="quiet" onClick={() => act({ tag: "drop", policy })}>
          Drop
        </Button>
      </>
    )
  }
]

/** The loudest fact about a table, and the switch for it. */
const Security = ({ onSwitch, table }: { table: Table; onSwitch: () => void }) => {
  const { enabled } = table.row_level_security
  const { anon, authenticated } = table.grants
  return (
    <section className={`policy-security ${enabled ? "on" : "off"}`} aria-label="Row-level security">
      <div>
        <h3>Row-level security is {enabled ? "on" : "off"}</h3>
        <p>
          {enabled
            ? table.policies.length === 0
              ? "There is no policy, so anon keys and users see and write nothing."
              : "Anon keys and users see and write what the policies allow."
            : anon.length > 0
              ? `Everyone with an anon key may ${anon.join(", ").toLowerCase()} all rows.`
              : "Policies are not applied; anon keys have no privileges on this table."}
        </p>
        <p className="hint">
          Granted to anon: {anon.join(", ").toLowerCase() || "nothing"}; to authenticated:{" "}
          {authenticated.join(", ").toLowerCase() || "nothing"}. A policy allows only what is granted as well.
        </p>
      </div>
      <Button kind={enabled ? "plain" : "main"} onClick={onSwitch}>
        Turn {enabled ? "off" : "on"}…
      </Button>
    </section>
  )
}

const One = ({ table }: { table: Table }) => {
  const client = useQueryClient()
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const changed = () => client.invalidateQueries({ queryKey: ["catalogue"] })
  const { enabled } = table.row_level_security
  const add = (
    <Button kind="main" icon="plus" onClick={() => setOpen({ tag: "form", policy: undefined })}>
      Add policy
    </Button>
  )
  return (
    <div className="page">
      <div className="page-head">
        <h2>{table.name}</h2>
        <Link to="/tables/$schema/$table" params={{ schema: table.schema, table: table.name }} search={{}}>
          Rows
        </Link>
        <CopyRequest path="/v1/database/schema" />
        {table.policies.length === 0 ? null : add}
      </div>
      <Security table={table} onSwitch={() => setOpen({ tag: "security" })} />
      {table.policies.length === 0 ? (
        <Empty icon="policy" title="No policies" action={add}>
          A policy says which rows a role may see and write.
          {enabled ? "" : " Policies apply once row-level security is on."}
        </Empty>
      ) : (
        <List label="Policies" columns={columnsOf(setOpen)} rows={table.policies} keyOf={({ name }) => name} />
      )}
      <Tester table={table} />
      {open?.tag === "form" ? (
        <PolicyForm table={table} policy={open.policy} onClose={close} onSaved={changed} />
      ) : null}
      {open?.tag === "drop" ? (
        <RunDdl
          title={`Drop ${open.policy.name}?`}
          verb="Drop policy"
          name={open.policy.name}
          statements={[dropSql(table, open.policy.name)]}
          done="Policy dropped"
          onClose={close}
          onDone={changed}
        >
          <p>
            {open.policy.permissive
              ? "Callers lose the rows that only this policy gives them."
              : "Callers get the rows that this policy kept from them."}
          </p>
        </RunDdl>
      ) : null}
      {open?.tag === "security" ? (
        <RunDdl
          title={`Turn row-level security ${enabled ? "off" : "on"} for ${table.name}?`}
          verb={enabled ? "Turn off" : "Turn on"}
          name={enabled ? table.name : undefined}
          statements={[securitySql(table, !enabled)]}
          done={`Row-level security is ${enabled ? "off" : "on"}`}
          onClose={close}
          onDone={changed}
        >
          <p>
            {enabled
              ? "Everyone with an anon key, which is public, can then use all rows as far as anon has privileges."
              : table.policies.length === 0
                ? "There is no policy yet: apps that use anon keys will see no rows until you add one."
                : "Apps that use anon keys will see only what the policies allow."}
          </p>
        </RunDdl>
      ) : null}
    </div>
  )
}

export const TablePolicies = () => {
  const { schema, table: name } = useParams({ strict: false }) as { readonly schema: string; readonly table: string }
  const catalogue = useCatalogue()
  const table = catalogue.data === undefined ? undefined : tableOf(catalogue.data, schema, name)
  if (table !== undefined) return <One key={`${schema}.${name}`} table={table} />
  return (
    <div className="page">
      {catalogue.isPending ? (
        <Skeleton lines={[40, 100, 100]} />
      ) : catalogue.isLoadingError ? (
        <Problem error={catalogue.error} title="The table could not be read" onRetry={() => void catalogue.refetch()} />
      ) : (
        <Empty
          icon="policy"
          title="No such table"
          action={
            <Link className="button" to="/policies">
              All tables
            </Link>
          }
        >
          There is no table {schema}.{name} in the exposed schemas.
        </Empty>
      )}
    </div>
  )
}
