import { Context, Effect, Layer } from "effect"
import { exposition, type MetricFormat } from "../../domain/metrics/Exposition.ts"
import { isCumulative, type Sample, summed } from "../../domain/metrics/Sample.ts"
import { Peers } from "../ports/workers/Peers.ts"
import { CurrentMeters } from "./Meters.ts"

/** The answer of a process. */
interface Reported {
  readonly pid: number
  readonly samples: ReadonlyArray<Sample>
}

/** Processes whose last numbers are kept by themselves; what the oldest of more had counted is kept together. */
const maxEnded = 32

/** The metrics of this process and of the other processes of this service on this machine. */
export class Metrics extends Context.Service<
  Metrics,
  {
    /** `more`: samples that are measured once for all processes. */
    readonly text: (format: MetricFormat, more: ReadonlyArray<Sample>) => Effect.Effect<string>
  }
>()("svc/services/Metrics") {
  static readonly layer = Layer.effect(
    Metrics,
    Effect.gen(function* () {
      const meters = yield* CurrentMeters
      const peers = yield* Peers
      const here = (): Reported => ({ pid: process.pid, samples: meters.samples })
      yield* peers.on("metrics", () => Effect.sync(() => JSON.stringify(here())))

      /** The counts of processes that have ended, or did not answer: sums of counters must not fall. */
      const last = new Map<number, ReadonlyArray<Sample>>()
      let earlier: ReadonlyArray<Sample> = []
      const remember = (reports: ReadonlyArray<Reported>) => {
        for (const { pid, samples } of reports) {
          last.delete(pid)
          last.set(pid, samples.filter(isCumulative))
        }
        for (const [pid, samples] of last) {
          if (last.size <= reports.length + maxEnded) return
          last.delete(pid)
          earlier = summed([...earlier, ...samples])
        }
      }

      const text = (format: MetricFormat, more: ReadonlyArray<Sample>) =>
        Effect.map(peers.ask("metrics", ""), (answers) => {
          const reports = [here(), ...answers.map((json) => JSON.parse(json) as Reported)]
          remember(reports)
          const silent = new Map(last)
          for (const { pid } of reports) silent.delete(pid)
          const all = [...reports.map(({ samples }) => samples), ...silent.values(), earlier, more]
          return exposition(summed(all.flat()), format)
        })
      return Metrics.of({ text })
    })
  )
}
