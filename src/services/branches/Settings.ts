import { Context, Effect, Layer } from "effect"
import { duration, flag, oneOf } from "../../domain/Settings.ts"

export type BranchStrategy = "copy" | "dump" | "auto"

/** How branches are made. */
export class BranchSettings extends Context.Service<
  BranchSettings,
  {
    /** Time limit of a copy, in ms; clients of the main database wait for it. */
    readonly timeout: number
    /** Whether sessions of other applications are terminated for a copy. */
    readonly endSessions: boolean
    /**
     * `copy`: PostgreSQL copies the files, while clients of the main database wait. `dump`: a dump is restored, which takes
     * longer, without a wait for clients. `auto`: a copy, or a dump while the database is in use.
     */
    readonly strategy: BranchStrategy
  }
>()("svc/services/BranchSettings") {
  static readonly layer = Layer.effect(
    BranchSettings,
    Effect.gen(function* () {
      return BranchSettings.of({
        timeout: yield* duration("SVC_BRANCH_TIMEOUT", 60_000),
        endSessions: yield* flag("SVC_BRANCH_END_SESSIONS", true),
        strategy: yield* oneOf<BranchStrategy>("SVC_BRANCH_STRATEGY", "copy", ["copy", "dump", "auto"])
      })
    })
  )
}
