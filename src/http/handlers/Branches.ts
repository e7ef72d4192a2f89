import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type Branch } from "../../domain/branches/Branch.ts"
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
      create: ({ headers, payload }) =>
        prefersAsync(headers.prefer)
          ? Effect.map(branches.start(payload), startedBranch)
          : Effect.map(branches.create(payload), (branch) => HttpServerResponse.jsonUnsafe(branch, { status: 201 })),
      find: ({ params }) => branches.find(params.id),
      change: ({ params, payload }) => branches.change(params.id, payload),
      remove: ({ params }) => Effect.as(branches.remove(params.id), success)
    })
  })
)
