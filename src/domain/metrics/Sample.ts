import { familyOf, type LabelsOf, type MetricName } from "./Catalogue.ts"

/** A histogram: how many values each bound of its family was not exceeded by. */
export interface Distribution {
  readonly counts: ReadonlyArray<number>
  readonly sum: number
  readonly count: number
}

/** One value of a metric. Can be written as JSON. */
export interface Sample {
  readonly name: MetricName
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | Distribution
}

export const sampleOf = <N extends MetricName>(name: N, labels: LabelsOf<N>, value: number | Distribution): Sample => ({
  name,
  labels,
  value
})

const sumOf = (a: Sample["value"], b: Sample["value"]): Sample["value"] => {
  if (typeof a === "number" || typeof b === "number") return Number(a) + Number(b)
  return {
    counts: a.counts.map((count, at) => count + (b.counts[at] ?? 0)),
    sum: a.sum + b.sum,
    count: a.count + b.count
  }
}

/** Adds up the values that have the same labels: those of several pools, and of several processes. */
export const summed = (samples: Iterable<Sample>): ReadonlyArray<Sample> => {
  const all = new Map<string, Sample>()
  for (const sample of samples) {
    const key = JSON.stringify([sample.name, familyOf(sample.name).labels.map((label) => sample.labels[label])])
    const before = all.get(key)
    // `svc_build_info` is the same in all processes and not added up.
    const value =
      before === undefined || sample.name === "svc_build_info" ? sample.value : sumOf(before.value, sample.value)
    all.set(key, { ...sample, value })
  }
  return Array.from(all.values())
}

/** Whether the value only grows, and so must not fall when a process ends. */
export const isCumulative = ({ name }: Sample) => familyOf(name).type !== "gauge"
