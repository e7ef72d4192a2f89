import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { RequestLog } from "../../services/requests/RequestLog.ts"
import { Api } from "../Api.ts"

export const RequestsHandlers = HttpApiBuilder.group(
  Api,
  "requests",
  Effect.fn(function* (handlers) {
    const log = yield* RequestLog
    return handlers.handleAll({
      list: ({ query }) => log.list(query),
      counts: ({ query }) => log.counts(query),
      keys: () => log.keys
    })
  })
)
