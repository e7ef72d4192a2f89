import { Link } from "@tanstack/react-router"
import { type ReactNode } from "react"
import { Skeleton } from "../ui/Empty.tsx"
import { useCrumb } from "../ui/page/crumb.ts"
import { Gone } from "../ui/page/Gone.tsx"
import { type Branch, useBranches } from "./queries.ts"

export const toBranches = (
  <Link className="button" to="/branches">
    All branches
  </Link>
)

/** A page about a branch, once it is known that there is one that can be read. */
export const OfBranch = ({ children, id }: { id: string; children: (branch: Branch) => ReactNode }) => {
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
  return children(branch)
}
