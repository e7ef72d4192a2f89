import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { LogLines } from "../../services/ports/logs/LogLines.ts"
import { Api } from "../Api.ts"

export const LogsHandlers = HttpApiBuilder.group(
  Api,
  "logs",
  Effect.fn(function* (handlers) {
    const logs = yield* LogLines
    return handlers.handleAll({ search: ({ query }) => logs.search(query) })
  })
)
