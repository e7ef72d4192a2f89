import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Status } from "../../services/Status.ts"
import { Api } from "../Api.ts"

const ok = { status: "ok" as const }

export const HealthHandlers = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fn(function* (handlers) {
    const status = yield* Status
    return handlers.handleAll({
      alive: () => Effect.succeed(ok),
      ready: () => Effect.as(status.databaseVersion, ok)
    })
  })
)
