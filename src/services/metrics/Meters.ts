import { Context, Effect, Layer, Metric, type Scope } from "effect"
import { type catalogue, familyOf, type LabelsOf, type MetricName } from "../../domain/metrics/Catalogue.ts"
import { type Sample, sampleOf, summed } from "../../domain/metrics/Sample.ts"

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
