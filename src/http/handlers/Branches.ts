import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { shownBranch } from "../../domain/audit/Shown.ts"
import { type Branch } from "../../domain/branches/Branch.ts"
import { describeChange } from "../../services/audit/Change.ts"
import { Branches } from "../../services/branches/Branches.ts"
import { Api } from "../Api.ts"
import { prefersAsync } from "../rows/Prefer.ts"
import { success } from "../wire/Body.ts"

/** The response for `Prefer: respond-async`: the branch as it is begun. */
export const startedBranch = (branch: Branch) =>
  HttpServerResponse.jsonUnsafe(branch, {
    status: 202,
    headers: { "preference-applied": "respond-async", location: `/api/branches/${branch.id}` }
  })

export const BranchesHandlers = HttpApiBuilder.group(
  Api,
  "branches",
  Effect.fn(function* (handlers) {
    const branches = yield* Branches
    return handlers.handleAll({
      list: ({ query }) => (query.all === "true" ? branches.listAll : branches.list),
      create: Effect.fnUntraced(function* ({ headers, payload }) {
        const waits = !prefersAsync(headers.prefer)
        const branch = yield* waits ? branches.create(payload) : branches.start(payload)
        yield* describeChange({ subject: `branch:${branch.id}`, after: shownBranch(branch) })
        return waits ? HttpServerResponse.jsonUnsafe(branch, { status: 201 }) : startedBranch(branch)
      }),
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
