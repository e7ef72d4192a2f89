import { Context, Effect, Layer } from "effect"
import { duration, flag } from "../domain/Settings.ts"

/** How branches are made. */
export class BranchSettings extends Context.Service<
  BranchSettings,
  {
    /** Longest a copy may take, in ms: nobody gets into the main database meanwhile. */
    readonly timeout: number
    /** Whether sessions that are not of this service are ended for it. */
    readonly endSessions: boolean
  }
>()("svc/services/BranchSettings") {
  static readonly layer = Layer.effect(
    BranchSettings,
    Effect.gen(function* () {
      return BranchSettings.of({
        timeout: yield* duration("SVC_BRANCH_TIMEOUT", 60_000),
        endSessions: yield* flag("SVC_BRANCH_END_SESSIONS", true)
      })
    })
  )
}
