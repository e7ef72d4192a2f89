import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { shownBranch } from "../../domain/audit/Shown.ts"
import { instantOf } from "../../domain/recovery/Recovery.ts"
import { describeChange } from "../../services/audit/Change.ts"
import { Drills } from "../../services/recovery/Drills.ts"
import { Recovery } from "../../services/backups/Recovery.ts"
import { Api } from "../Api.ts"
import { prefersAsync } from "../rows/Prefer.ts"
import { success } from "../wire/Body.ts"
import { startedBranch } from "./Branches.ts"

const recoveryKey = "recovery_key"

export const RecoveryHandlers = HttpApiBuilder.group(
  Api,
  "recovery",
  Effect.fn(function* (handlers) {
    const recovery = yield* Recovery
    const drills = yield* Drills
    return handlers.handleAll({
      state: () => recovery.state,
      restore: Effect.fnUntraced(function* ({ headers, payload }) {
        const { branch, done } = yield* recovery.start(payload)
        yield* describeChange({
          subject: `time:${payload.target_time}`,
          after: { branch: branch.id, ...shownBranch(branch) }
        })
        if (prefersAsync(headers.prefer)) return startedBranch(branch)
        return HttpServerResponse.jsonUnsafe(yield* done, { status: 201 })
      }),
      drills: () => Effect.map(drills.list, (drills) => ({ drills })),
      startDrill: () => Effect.tap(drills.start, ({ id }) => describeChange({ subject: `drill:${id}` })),
      changes: ({ query }) => recovery.changes(instantOf(query.since)),
      makeKey: () =>
        Effect.map(
          Effect.tap(recovery.makeKey, () => describeChange({ subject: recoveryKey })),
          (recovery_key) => ({ recovery_key })
        ),
      confirmKey: ({ payload }) =>
        recovery
          .confirmKey(payload.recovery_key)
          .pipe(Effect.andThen(describeChange({ subject: recoveryKey })), Effect.as(success))
    })
  })
)
