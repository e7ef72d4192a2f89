import { Context, Effect, Layer } from "effect"
import { duration, flag, oneOf } from "../../domain/Settings.ts"

export type BranchStrategy = "copy" | "dump" | "auto"

/** How branches are made. */
export class BranchSettings extends Context.Service<
  BranchSettings,
  {
    /** Longest a copy may take, in ms: nobody gets into the main database meanwhile. */
    readonly timeout: number
    /** Whether sessions that are not of this service are ended for it. */
    readonly endSessions: boolean
    /**
     * `copy`: PostgreSQL copies the files, with nobody in the main database meanwhile. `dump`: a dump is restored, which
     * takes longer and disturbs nobody. `auto`: a copy, or a dump while the database is in use.
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
