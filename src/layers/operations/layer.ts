import { performance } from "node:perf_hooks"
import { Effect, Layer } from "effect"
import { Unavailable } from "../../domain/errors.ts"
import { type MetricFormat, sampleOf } from "../../domain/metrics/Sample.ts"
import { ArchiveHealth } from "../../services/recovery/ArchiveHealth.ts"
import { Shutdown } from "../../services/Shutdown.ts"
import { commit, version } from "../../domain/Version.ts"
import { Status, ready } from "../../services/Status.ts"
import { makeVerificationMetrics } from "../../services/backups/VerificationMetrics.ts"
import { ChangeHealth } from "../../services/changes/Changes.ts"
import { FlagEngine } from "../../services/ports/FlagEngine.ts"
import { CurrentMeters, Metrics } from "../../services/metrics/Meters.ts"
import { makeWebhookBacklog } from "../../services/webhooks/Backlog.ts"
import { makeQueueBacklog } from "../../services/queues/Backlog.ts"
import { workerNumber } from "../process/WorkerSettings.ts"
import { Primary } from "../workers/Primary.ts"
import { type OperationsSettings, operationsSettings, serveOperations } from "./Server.ts"

/** How often the delay of the event loop is measured, in ms: each time wakes the process when it is at rest. */
const interval = 1_000

/** Measures this process: memory, processor time, and how long the event loop makes others wait. */
const layerProcessMeters = Layer.effectDiscard(
  Effect.gen(function* () {
    const meters = yield* CurrentMeters
    const labels = { process: workerNumber === undefined ? "main" : `worker-${workerNumber}` }
    yield* meters.sample(() => {
      const { heapUsed, rss } = process.memoryUsage()
      const { system, user } = process.cpuUsage()
      return [
        sampleOf("svc_build_info", { version, commit, node: process.version }, 1),
        sampleOf("process_start_time_seconds", labels, performance.timeOrigin / 1000),
        sampleOf("process_cpu_seconds_total", labels, (system + user) / 1_000_000),
        sampleOf("process_resident_memory_bytes", labels, rss),
        sampleOf("svc_heap_bytes", labels, heapUsed),
        sampleOf("svc_event_loop_busy_seconds_total", labels, performance.eventLoopUtilization().active / 1000)
      ]
    })
    const delay = meters.histogram("svc_event_loop_delay_seconds", labels)
    let due = performance.now() + interval
    const measure = () => {
      const now = performance.now()
      delay(Math.max(0, now - due) / 1000)
      due = now + interval
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => setInterval(measure, interval).unref()),
      (timer) => Effect.sync(() => clearInterval(timer))
    )
  })
)

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
      const archive = yield* ArchiveHealth
      const engine = yield* FlagEngine
      const backlog = yield* makeWebhookBacklog
      const queues = yield* makeQueueBacklog
      const verifications = yield* makeVerificationMetrics
      const read = (format: MetricFormat) =>
        Effect.cachedWithTTL(
          Effect.flatMap(Effect.all([backlog, queues, verifications, changes.samples, archive.samples]), (samples) =>
            metrics.text(format, samples.flat())
          ),
          freshness
        )
      const texts = { text: yield* read("text"), openmetrics: yield* read("openmetrics") }
      const port = yield* serveOperations(settings, {
        ready: Effect.suspend(() =>
          serves() ? ready(status, shutdown, changes, archive, engine) : Effect.fail(starting)
        ),
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
  Layer.provide([Status.layer, ChangeHealth.layer, ArchiveHealth.layer])
)
