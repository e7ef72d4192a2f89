import { Effect, Layer } from "effect"
import { type MetricFormat } from "../../domain/metrics/Sample.ts"
import { Unavailable } from "../../domain/errors.ts"
import { makeVerificationMetrics } from "../../services/backups/VerificationMetrics.ts"
import { ChangeHealth } from "../../services/changes/Changes.ts"
import { Metrics } from "../../services/metrics/Meters.ts"
import { Shutdown } from "../../services/Shutdown.ts"
import { ready, Status } from "../../services/Status.ts"
import { makeWebhookBacklog } from "../../services/webhooks/Backlog.ts"
import { Primary } from "../workers/Primary.ts"
import { workerNumber } from "../process/WorkerSettings.ts"
import { layerProcessMeters } from "./ProcessMeters.ts"
import { type OperationsSettings, operationsSettings, serveOperations } from "./Server.ts"

/** Validates the settings before anything starts. */
export const layerOperationsSettings = Layer.effectDiscard(operationsSettings)

/** How long a text is served again, so that any number of scrapes costs one reading a second. */
const freshness = "1 second"

const starting = new Unavailable({ error: "No worker serves yet", code: "UNAVAILABLE" })

const layerServer = (settings: OperationsSettings, serves: () => boolean) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const status = yield* Status
      const shutdown = yield* Shutdown
      const metrics = yield* Metrics
      const changes = yield* ChangeHealth
      const backlog = yield* makeWebhookBacklog
      const verifications = yield* makeVerificationMetrics
      const read = (format: MetricFormat) =>
        Effect.cachedWithTTL(
          Effect.flatMap(Effect.all([backlog, verifications, changes.samples]), (samples) =>
            metrics.text(format, samples.flat())
          ),
          freshness
        )
      const texts = { text: yield* read("text"), openmetrics: yield* read("openmetrics") }
      const port = yield* serveOperations(settings, {
        ready: Effect.suspend(() => (serves() ? ready(status, shutdown, changes) : Effect.fail(starting))),
        metrics: (format) => texts[format]
      })
      yield* Effect.logInfo(`Operations: port ${port} of ${settings.host} has /metrics, /healthz and /readyz`)
    })
  ).pipe(Layer.provide(Metrics.layer), Layer.provide(layerProcessMeters))

/** The operations port, if it is set. `serves`: whether requests are answered at all. */
const layerWith = (serves: () => boolean) =>
  Layer.unwrap(
    Effect.map(operationsSettings, (settings) => (settings === undefined ? Layer.empty : layerServer(settings, serves)))
  )

/** The port of a service in one process. A worker's metrics are read by its parent. */
export const layer =
  workerNumber === undefined
    ? layerWith(() => true)
    : Layer.unwrap(
        Effect.map(operationsSettings, (settings) =>
          settings === undefined ? Layer.empty : Layer.mergeAll(Metrics.layer, layerProcessMeters)
        )
      )

/** The port of the process that starts workers. */
export const layerOfParent = Layer.unwrap(Effect.map(Primary, ({ serves }) => layerWith(serves))).pipe(
  Layer.provide([Status.layer, ChangeHealth.layer])
)
