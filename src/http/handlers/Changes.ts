import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Changes } from "../../services/changes/Changes.ts"
import { Api } from "../Api.ts"

export const ChangesHandlers = HttpApiBuilder.group(
  Api,
  "changes",
  Effect.fn(function* (handlers) {
    const changes = yield* Changes
    return handlers.handleAll({ status: () => changes.status })
  })
)
