import { Effect } from "effect"
import { branchNames } from "../../domain/branches/Branch.ts"
import { BranchDatabases } from "../ports/BranchDatabases.ts"
import { Db } from "../ports/Db.ts"
import { type BranchRecords } from "./Records.ts"

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
     * Drops what is left of a branch whose creation failed; `Branches.sweep` retries what fails. False when the branch
     * had been deleted already.
     */
    const undo = (database: string) =>
      records.discard(database).pipe(
        Effect.tap(() => finish(database)),
        Effect.catchCause((cause) =>
          Effect.as(Effect.logWarning(`Failed to drop ${database}; will retry`, cause), true)
        )
      )

    return { finish, undo }
  })

export type BranchDeletion = Effect.Success<ReturnType<typeof makeBranchDeletion>>
