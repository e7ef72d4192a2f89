import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Status } from "../../services/Status.ts"
import { Api } from "../Api.ts"

export const StatusHandlers = HttpApiBuilder.group(
  Api,
  "status",
  Effect.fn(function* (handlers) {
    const status = yield* Status
    return handlers.handleAll({ get: () => status.get })
  })
)
