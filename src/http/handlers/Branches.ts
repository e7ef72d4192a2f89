import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { shownBranch } from "../../domain/audit/Shown.ts"
import { describeChange } from "../../services/audit/Change.ts"
import { Branches } from "../../services/branches/Branches.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

export const BranchesHandlers = HttpApiBuilder.group(
  Api,
  "branches",
  Effect.fn(function* (handlers) {
    const branches = yield* Branches
    return handlers.handleAll({
      list: () => branches.list,
      create: ({ payload }) =>
        Effect.tap(branches.create(payload), (branch) =>
          describeChange({ subject: `branch:${branch.id}`, after: shownBranch(branch) })
        ),
      find: ({ params }) => branches.find(params.id),
      change: ({ params, payload }) => branches.change(params.id, payload),
      remove: Effect.fnUntraced(function* ({ params }) {
        const before = yield* branches.find(params.id)
        yield* branches.remove(params.id)
        yield* describeChange({ subject: `branch:${params.id}`, before: shownBranch(before) })
        return success
      })
    })
  })
)
