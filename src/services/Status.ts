import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Unavailable } from "../domain/errors.ts"
import { baseUrl } from "../domain/Settings.ts"
import { type Readiness, type ServiceStatus } from "../domain/ServiceStatus.ts"
import { commit, version } from "../domain/Version.ts"
import { type ChangeHealth } from "./changes/Changes.ts"
import { type ArchiveHealth } from "./recovery/ArchiveHealth.ts"
import { FlagEngine } from "./ports/FlagEngine.ts"
import { type Shutdown } from "./Shutdown.ts"
import { databaseUnreachable, onOwnTables } from "./OwnTables.ts"

/** The address of the console of the object store; undefined if there is none. */
export const consoleUrl = baseUrl("S3_CONSOLE_URL")

const shuttingDown = new Unavailable({ error: "The service is shutting down", code: "SHUTTING_DOWN" })

const flagState = (engine: FlagEngine["Service"]) => (engine.degraded() ? ("degraded" as const) : ("ok" as const))

/**
 * Whether requests should be sent here: the service is not shutting down, and the database answers. The states of changes,
 * of the archive and of an external flag engine are shown but do not count: requests are served, and no other replica
 * would do better.
 */
export const ready = Effect.fnUntraced(function* (
  status: Status["Service"],
  shutdown: Shutdown["Service"],
  changes: ChangeHealth["Service"],
  archive: ArchiveHealth["Service"],
  engine: FlagEngine["Service"]
) {
  if (shutdown.begun()) return yield* shuttingDown
  yield* status.databaseVersion
  const [reading, archiving, drill] = [yield* changes.seen, yield* archive.seen, yield* archive.drill]
  return {
    status: "ok" as const,
    ...(engine.external ? { flags: flagState(engine) } : {}),
    ...(reading === undefined ? {} : { changes: reading.state }),
    ...(archiving === undefined ? {} : { recovery: archiving.state }),
    ...(drill === undefined ? {} : { recovery_drill: drill })
  } satisfies Readiness
})

/** The service's status (spec: GET /v1/status). */
export class Status extends Context.Service<
  Status,
  {
    readonly get: Effect.Effect<ServiceStatus, Unavailable>
    /** Queries the database; fails if there is no answer within 3 s. */
    readonly databaseVersion: Effect.Effect<string, Unavailable>
  }
>()("svc/services/Status") {
  static readonly layer = Layer.effect(
    Status,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const storage = { console_url: (yield* consoleUrl) ?? null }
      const engine = yield* FlagEngine
      const startedAt = yield* Clock.currentTimeMillis
      const databaseVersion = sql<{ v: string }>`select current_setting('server_version') as v`.pipe(
        onOwnTables,
        Effect.timeoutOrElse({ duration: "3 seconds", orElse: () => Effect.fail(databaseUnreachable()) }),
        Effect.map((rows) => rows[0]?.v ?? "")
      )
      const get = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const flags = flagState(engine)
        return {
          status: flags,
          version,
          commit,
          uptime_seconds: Math.floor((now - startedAt) / 1000),
          database: { status: "ok" as const, version: yield* databaseVersion },
          flags: { status: flags },
          storage
        }
      })
      return Status.of({ get, databaseVersion })
    })
  )
}
