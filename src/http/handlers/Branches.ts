import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
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
      create: ({ payload }) => branches.create(payload),
      find: ({ params }) => branches.find(params.id),
      change: ({ params, payload }) => branches.change(params.id, payload),
      remove: ({ params }) => Effect.as(branches.remove(params.id), success)
    })
  })
)
