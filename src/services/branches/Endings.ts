import { Context, Effect, Layer } from "effect"
import { branchNames } from "../../domain/branches/Branch.ts"
import { type Unavailable } from "../../domain/errors.ts"
import { BranchDatabases } from "../ports/BranchDatabases.ts"
import { BranchRecords } from "./Records.ts"
import { Db } from "../ports/Db.ts"

/** How branches go: the database first, the record last, so that no database of ours is ever without one. */
export class BranchEndings extends Context.Service<
  BranchEndings,
  {
    /** Drops one that is marked so. */
    readonly finish: (database: string) => Effect.Effect<void, Unavailable>
    /**
     * Drops what is left of one that could not be made; what can't be dropped now, `Branches.sweep` does. False when
     * somebody had dropped it already.
     */
    readonly undo: (database: string) => Effect.Effect<boolean>
  }
>()("svc/services/BranchEndings") {
  static readonly layer = Layer.effect(
    BranchEndings,
    Effect.gen(function* () {
      const db = yield* Db
      const databases = yield* BranchDatabases
      const records = yield* BranchRecords

      const finish = (database: string) =>
        Effect.gen(function* () {
          yield* db.leave(database)
          yield* databases.drop(branchNames(database))
          yield* records.forget(database)
        })

      const undo = (database: string) =>
        records.discard(database).pipe(
          Effect.tap(() => finish(database)),
          Effect.catchCause((cause) => Effect.as(Effect.logWarning(`${database} will be dropped later`, cause), true))
        )

      return BranchEndings.of({ finish, undo })
    })
  )
}
