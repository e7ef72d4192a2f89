import { Effect } from "effect"
import { parseBranchId } from "../../domain/branches/Branch.ts"
import { InvalidRequest } from "../../domain/errors.ts"
import { type Branches, type BranchRefusal } from "../../services/branches/Branches.ts"
import { type Database } from "../../services/ports/Db.ts"

/** The branch that a request means: an id in this header. Without it the main database is meant. */
export const branchHeader = "x-svc-branch"

const notAnId = new InvalidRequest({
  error: "X-Svc-Branch is not the id of a branch",
  hint: "GET /api/branches lists them"
})

/** The branch of a header's value; 400 when it is no id, 404 `BRANCH_NOT_FOUND` when there is none, 409 `BRANCH_RESTORING` while it is filled. */
export const branchOf = (
  value: string,
  branches: Branches["Service"]
): Effect.Effect<Database, InvalidRequest | BranchRefusal> => {
  const id = parseBranchId(value)
  return id === undefined ? Effect.fail(notAnId) : branches.database(id)
}

/** The database that a request means. */
export const databaseOf = (
  headers: Readonly<Record<string, string | undefined>>,
  main: Database,
  branches: Branches["Service"]
) => {
  const value = headers[branchHeader]
  return value === undefined ? Effect.succeed(main) : branchOf(value, branches)
}
