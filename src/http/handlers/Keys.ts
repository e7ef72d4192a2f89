import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Keys } from "../../services/access/Keys.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

export const KeysHandlers = HttpApiBuilder.group(
  Api,
  "keys",
  Effect.fn(function* (handlers) {
    const keys = yield* Keys
    return handlers.handleAll({
      list: () => keys.list,
      create: ({ payload }) => keys.create(payload.keyType, payload.label ?? "", payload.rate_limit ?? null),
      update: ({ params, payload }) => keys.update(params.id, payload),
      revoke: ({ params }) => Effect.as(keys.revoke(params.id), success)
    })
  })
)

export const ClientKeysHandlers = HttpApiBuilder.group(
  Api,
  "clientKeys",
  Effect.fn(function* (handlers) {
    const keys = yield* Keys
    return handlers.handleAll({ list: () => keys.list })
  })
)
