import { Cause, Effect } from "effect"
import { branchNames } from "../../domain/branches/Branch.ts"
import { type ClientError } from "../../domain/errors.ts"
import { DumpFailed } from "../ports/DumpTools.ts"
import { BranchDatabases } from "../ports/BranchDatabases.ts"
import { Db } from "../ports/Db.ts"
import { type BranchRecords } from "./Records.ts"

/** Characters of a reason that are kept. */
const maxReason = 2000

/** Why the creation of a branch failed. */
const reasonOf = (cause: Cause.Cause<unknown>) => {
  for (const reason of cause.reasons) {
    if (reason._tag !== "Fail") continue
    if (reason.error instanceof DumpFailed) return reason.error.reason
    const { details, error } = reason.error as Partial<ClientError>
    if (error !== undefined) return typeof details === "string" ? `${error}: ${details}` : error
  }
  return Cause.hasInterrupts(cause)
    ? "The creation was cancelled, or the service ended"
    : "Something went wrong on our side; the log has more"
}

/** Deletes branches: the database first, the record last, so that every database of a branch has a record. */
export const makeBranchDeletion = (records: BranchRecords) =>
  Effect.gen(function* () {
    const db = yield* Db
    const databases = yield* BranchDatabases

    /** Drops a branch whose record is marked for it. */
    const finish = (database: string) =>
      Effect.gen(function* () {
        yield* db.leave(database)
        yield* databases.drop(branchNames(database))
        yield* records.forget(database)
      })

    /**
     * Drops the remains of a branch whose creation failed, and keeps the reason; `Branches.sweep` retries failures.
     * False when the branch had been deleted already.
     */
    const undo = (database: string, cause: Cause.Cause<unknown>) =>
      records.discard(database, reasonOf(cause).replaceAll("\0", "").slice(0, maxReason)).pipe(
        Effect.tap(() => finish(database)),
        Effect.catchCause((failure) =>
          Effect.as(Effect.logWarning(`Failed to drop ${database}; will retry`, failure), true)
        )
      )

    return { finish, undo }
  })

export type BranchDeletion = Effect.Success<ReturnType<typeof makeBranchDeletion>>
