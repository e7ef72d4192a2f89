import "./compare.css"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useParams, useSearch } from "@tanstack/react-router"
import { Button } from "../../ui/Button.tsx"
import { Skeleton } from "../../ui/Empty.tsx"
import { Gone } from "../../ui/page/Gone.tsx"
import { CopyRequest } from "../../ui/page/CopyRequest.tsx"
import { useBranches } from "../queries.ts"
import { comparisonsOf } from "./queries.ts"
import { TableComparison } from "./TableComparison.tsx"
import { TableList } from "./TableList.tsx"
import { useCrumb } from "../../ui/page/crumb.ts"

const toBranches = (
  <Link className="button" to="/branches">
    All branches
  </Link>
)

/** A branch beside the main database: its tables, or the rows of one. */
export const ComparePage = () => {
  const { branch: id } = useParams({ from: "/branches/$branch/compare" })
  const { schema, table } = useSearch({ from: "/branches/$branch/compare" })
  const client = useQueryClient()
  const branches = useBranches()
  const branch = branches.data?.find((one) => String(one.id) === id)
  useCrumb(id, branch?.label)
  if (branches.isPending) {
    return (
      <div className="page">
        <Skeleton lines={[40, 100, 100]} />
      </div>
    )
  }
  if (branch === undefined || branch.status !== "active") {
    return (
      <Gone icon="branch" title="There is no such branch">
        {toBranches}
      </Gone>
    )
  }
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
