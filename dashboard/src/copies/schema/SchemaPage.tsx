import "./schema.css"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Empty, Skeleton } from "../../ui/Empty.tsx"
import { plural } from "../../ui/format.ts"
import { CopyRequest } from "../../ui/page/CopyRequest.tsx"
import { Segments } from "../../ui/page/Segments.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { OfBranch, toBranches } from "../OfBranch.tsx"
import { type Branch } from "../queries.ts"
import { Draft } from "./Draft.tsx"
import { schemaChangesOf, type SchemaDifference, type Target, useSchemaChanges } from "./queries.ts"
import { Statements } from "./Statements.tsx"

const Summary = ({ of }: { of: SchemaDifference }) => (
  <p className="schema-marks" role="status">
    <span className="badge">{plural(of.statements.length, "statement")}</span>
    {of.destructive > 0 ? (
      <span className="badge bad">{plural(of.destructive, "statement")} with data loss</span>
    ) : (
      <span className="badge good">no value is deleted</span>
    )}
    {of.transactions > 1 ? <span className="badge">{of.transactions} transactions</span> : null}
    {of.warnings.length > 0 ? <span className="badge warn">{plural(of.warnings.length, "warning")}</span> : null}
  </p>
)

const Changes = ({ branch, to }: { branch: Branch; to: Target }) => {
  const changes = useSchemaChanges(branch.id, to)
  if (changes.isPending) return <Skeleton lines={[40, 100, 100, 100]} />
  if (changes.isError) {
    return (
      <Problem error={changes.error} title="The schemas could not be compared" onRetry={() => void changes.refetch()} />
    )
  }
  const { data } = changes
  if (data.sql === "") {
    return (
      <Empty icon="branch" title="The schemas are the same">
        Tables, types, functions, policies and grants of the branch are those of main.
      </Empty>
    )
  }
  return (
    <>
      <Summary of={data} />
      {data.warnings.length === 0 ? null : (
        <ul className="note schema-warnings" aria-label="Warnings">
          {data.warnings.map(({ message }, at) => (
            <li key={at}>{message}</li>
          ))}
        </ul>
      )}
      <Statements of={data} />
      <Draft key={`${to} ${data.fingerprint} ${data.sql}`} branch={branch} of={data} />
    </>
  )
}

/** What makes the schema of the main database that of a branch, or the other way round. */
export const SchemaPage = () => {
  const { branch } = useParams({ from: "/branches/$branch/schema" })
  return <OfBranch id={branch}>{(found) => <BranchSchema branch={found} />}</OfBranch>
}

const BranchSchema = ({ branch }: { branch: Branch }) => {
  const client = useQueryClient()
  const [to, setTo] = useState<Target>("main")
  const id = String(branch.id)
  return (
    <div className="page">
      <div className="page-head">
        <h2>
          Schema of {branch.label} <span className="soft">and of main</span>
        </h2>
        <Button icon="refresh" onClick={() => void client.invalidateQueries({ queryKey: schemaChangesOf(branch.id) })}>
          Compare again
        </Button>
        <CopyRequest path={`/api/branches/${id}/schema-changes${to === "main" ? "" : "?to=branch"}`} />
        <Link className="button" to="/branches/$branch/compare" params={{ branch: id }} search={{}}>
          Compare rows
        </Link>
        {toBranches}
      </div>
      <div className="schema-bar">
        <Segments
          label="Changes of"
          value={to}
          onValue={setTo}
          options={[
            ["main", "Main gets the branch's schema"],
            ["branch", "The branch gets main's schema"]
          ]}
        />
      </div>
      <Changes branch={branch} to={to} />
    </div>
  )
}
