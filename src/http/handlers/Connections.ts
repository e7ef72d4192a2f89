import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Connections } from "../../services/connections/Connections.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

export const ConnectionsHandlers = HttpApiBuilder.group(
  Api,
  "connections",
  Effect.fn(function* (handlers) {
    const connections = yield* Connections
    return handlers.handleAll({
      list: () => connections.list,
      create: ({ payload }) => connections.create(payload),
      find: ({ params }) => connections.find(params.id),
      update: ({ params, payload }) => connections.update(params.id, payload),
      remove: ({ params }) => Effect.as(connections.remove(params.id), success),
      test: ({ params }) => connections.test(params.id)
    })
  })
)
