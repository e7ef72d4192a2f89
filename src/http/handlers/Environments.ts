import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Environments } from "../../services/environments/Environments.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

export const EnvironmentsHandlers = HttpApiBuilder.group(
  Api,
  "environments",
  Effect.fn(function* (handlers) {
    const environments = yield* Environments
    return handlers.handleAll({
      list: ({ params, query }) => environments.list(params.projectId, query.include_deleted === "true"),
      create: ({ params, payload }) => environments.create(params.projectId, payload),
      find: ({ params }) => environments.find(params.id),
      update: ({ params, payload }) => environments.update(params.id, payload),
      remove: ({ params }) => Effect.as(environments.remove(params.id), success)
    })
  })
)
