import "./compare.css"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useParams, useSearch } from "@tanstack/react-router"
import { Button } from "../../ui/Button.tsx"
import { CopyRequest } from "../../ui/page/CopyRequest.tsx"
import { OfBranch, toBranches } from "../OfBranch.tsx"
import { type Branch } from "../queries.ts"
import { comparisonsOf } from "./queries.ts"
import { TableComparison } from "./TableComparison.tsx"
import { TableList } from "./TableList.tsx"

/** A branch beside the main database: its tables, or the rows of one. */
export const ComparePage = () => {
  const { branch } = useParams({ from: "/branches/$branch/compare" })
  return <OfBranch id={branch}>{(found) => <Comparison branch={found} />}</OfBranch>
}

const Comparison = ({ branch }: { branch: Branch }) => {
  const id = String(branch.id)
  const { schema, table } = useSearch({ from: "/branches/$branch/compare" })
  const client = useQueryClient()
  const chosen =
    typeof table === "string" && typeof schema === "string" ? { branch: branch.id, schema, table } : undefined
  return (
    <div className="page compare">
      <div className="page-head">
        <h2>
          {chosen === undefined ? (
            <>Compare {branch.label} with main</>
          ) : (
            <>
              {chosen.schema === "public" ? "" : `${chosen.schema}.`}
              {chosen.table} <span className="soft">in {branch.label} and in main</span>
            </>
          )}
        </h2>
        <Button icon="refresh" onClick={() => void client.invalidateQueries({ queryKey: comparisonsOf(branch.id) })}>
          Compare again
        </Button>
        <CopyRequest
          path={
            chosen === undefined
              ? `/api/branches/${id}/tables`
              : `/api/branches/${id}/differences?${new URLSearchParams({ schema: chosen.schema, table: chosen.table }).toString()}`
          }
        />
        {chosen === undefined ? (
          toBranches
        ) : (
          <Link className="button" to="/branches/$branch/compare" params={{ branch: id }} search={{}}>
            All tables
          </Link>
        )}
      </div>
      {chosen === undefined ? (
        <TableList branch={branch} />
      ) : (
        <TableComparison key={`${chosen.schema}.${chosen.table}`} of={chosen} label={branch.label} />
      )}
    </div>
  )
}
