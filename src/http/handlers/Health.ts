import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { ChangeHealth } from "../../services/changes/Changes.ts"
import { ArchiveHealth } from "../../services/recovery/ArchiveHealth.ts"
import { FlagEngine } from "../../services/ports/FlagEngine.ts"
import { Shutdown } from "../../services/Shutdown.ts"
import { ready, Status } from "../../services/Status.ts"
import { Api } from "../Api.ts"

const ok = { status: "ok" as const }

export const HealthHandlers = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fn(function* (handlers) {
    const status = yield* Status
    const shutdown = yield* Shutdown
    const changes = yield* ChangeHealth
    const archive = yield* ArchiveHealth
    const engine = yield* FlagEngine
    return handlers.handleAll({
      alive: () => Effect.succeed(ok),
      ready: () => ready(status, shutdown, changes, archive, engine)
    })
  })
)
