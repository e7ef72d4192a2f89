import { Effect, Schema } from "effect"
import { parseBranchId } from "../../domain/branches/Branch.ts"
import { InvalidRequest } from "../../domain/errors.ts"
import { type Branches, type BranchRefusal } from "../../services/branches/Branches.ts"
import { type Actor, type Database } from "../../services/ports/Db.ts"

/** The header with a branch's id. Without it a request uses the main database. */
export const branchHeader = "x-svc-branch"

/** The header in the contract of each route on the database. */
export const branchHeaders = { [branchHeader]: Schema.optionalKey(Schema.String) }

export const notABranchId = new InvalidRequest({
  error: "X-Svc-Branch is not a valid branch id",
  hint: "GET /api/branches lists the branches"
})

/** The database of a header's value for a caller. 400 for an invalid id; else fails as `Branches.database` does. */
export const branchOf = (
  value: string,
  { role }: Actor,
  branches: Branches["Service"]
): Effect.Effect<Database, InvalidRequest | BranchRefusal> => {
  const id = parseBranchId(value)
  return id === undefined ? Effect.fail(notABranchId) : branches.database(id, role)
}

/** The database that a caller's request uses. */
export const databaseOf = (
  headers: Readonly<Record<string, string | undefined>>,
  actor: Actor,
  main: Database,
  branches: Branches["Service"]
) => {
  const value = headers[branchHeader]
  return value === undefined ? Effect.succeed(main) : branchOf(value, actor, branches)
}
