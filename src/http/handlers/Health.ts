import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Unavailable } from "../../domain/errors.ts"
import { Shutdown } from "../../services/Shutdown.ts"
import { Status } from "../../services/Status.ts"
import { Api } from "../Api.ts"

const ok = { status: "ok" as const }
const shuttingDown = new Unavailable({ error: "The service is shutting down", code: "SHUTTING_DOWN" })

export const HealthHandlers = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fn(function* (handlers) {
    const status = yield* Status
    const shutdown = yield* Shutdown
    return handlers.handleAll({
      alive: () => Effect.succeed(ok),
      ready: () => (shutdown.begun() ? Effect.fail(shuttingDown) : Effect.as(status.databaseVersion, ok))
    })
  })
)
