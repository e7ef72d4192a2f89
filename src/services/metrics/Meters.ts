import { Context, Effect, Layer, Metric, type Scope } from "effect"
import { type LabelsOf, type MetricName, type catalogue, familyOf } from "../../domain/metrics/Catalogue.ts"
import {
  type MetricFormat,
  type Sample,
  exposition,
  isCumulative,
  sampleOf,
  summed
} from "../../domain/metrics/Sample.ts"
import { Peers } from "../ports/workers/Peers.ts"

/** The metrics of one kind in the catalogue. */
type Named<T> = { [N in MetricName]: (typeof catalogue)[N]["type"] extends T ? N : never }[MetricName]

/**
 * The measurements of one process. Events are counted by Effect's metrics, in a registry of this service alone. Numbers
 * that others count anyway, such as pools and the request log, are sampled on request, and so cost other requests
 * nothing.
 */
export class Meters {
  private readonly context = Context.make(Metric.MetricRegistry, new Map())
  private readonly samplers = new Set<() => Iterable<Sample>>()

  /** A counter, which is reported as 0 from now on. */
  counter<N extends Named<"counter">>(name: N, labels: LabelsOf<N>): (by?: number) => void {
    const metric = Metric.counter(name, {
      description: familyOf(name).help,
      attributes: labels as Record<string, string>,
      incremental: true
    })
    metric.updateUnsafe(0, this.context)
    return (by = 1) => metric.updateUnsafe(by, this.context)
  }

  /** A histogram, which is reported as empty from now on. */
  histogram<N extends Named<"histogram">>(name: N, labels: LabelsOf<N>): (value: number) => void {
    const { bounds = [], help } = familyOf(name)
    const metric = Metric.histogram(name, {
      description: help,
      attributes: labels as Record<string, string>,
      boundaries: bounds
    })
    metric.valueUnsafe(this.context)
    return (value) => metric.updateUnsafe(value, this.context)
  }

  /** Has a part read its own numbers until the scope closes. Values with the same labels are added up. */
  sample(read: () => Iterable<Sample>): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => this.samplers.add(read)),
        () => Effect.sync(() => this.samplers.delete(read))
      )
    )
  }

  get samples(): ReadonlyArray<Sample> {
    const counted = Metric.snapshotUnsafe(this.context).flatMap((snapshot) => {
      const name = snapshot.id as MetricName
      const labels = (snapshot.attributes ?? {}) as LabelsOf<MetricName>
      if (snapshot.type === "Counter") return [sampleOf(name, labels, Number(snapshot.state.count))]
      if (snapshot.type !== "Histogram") return []
      const { buckets, count, sum } = snapshot.state
      return [sampleOf(name, labels, { counts: buckets.map(([, upTo]) => upTo), sum, count })]
    })
    return summed([...counted, ...Array.from(this.samplers, (read) => Array.from(read())).flat()])
  }
}

/** The meters of this service. */
export const CurrentMeters = Context.Reference<Meters>("svc/services/CurrentMeters", {
  defaultValue: () => new Meters()
})

export const layerMeters = Layer.sync(CurrentMeters, () => new Meters())

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
