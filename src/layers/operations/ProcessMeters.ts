import { Effect, Layer } from "effect"
import { performance } from "node:perf_hooks"
import { sampleOf } from "../../domain/metrics/Sample.ts"
import { CurrentMeters } from "../../services/metrics/Meters.ts"
import { version } from "../../services/Status.ts"
import { workerNumber } from "../process/WorkerSettings.ts"

/** How often the delay of the event loop is measured, in ms. */
const interval = 100

/** Measures this process: memory, processor time, and how long the event loop makes others wait. */
export const layerProcessMeters = Layer.effectDiscard(
  Effect.gen(function* () {
    const meters = yield* CurrentMeters
    const labels = { process: workerNumber === undefined ? "main" : `worker-${workerNumber}` }
    yield* meters.sample(() => {
      const { heapUsed, rss } = process.memoryUsage()
      const { system, user } = process.cpuUsage()
      return [
        sampleOf("svc_build_info", { version, node: process.version }, 1),
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
