/** Formats numbers and tables. */

export const whole = (n: number) => Math.round(n).toLocaleString("en")

/** Milliseconds. */
export const millis = (n: number) => (Number.isFinite(n) ? n.toFixed(n < 10 ? 1 : 0) : "")

export const median = (values: ReadonlyArray<number>) => {
  const sorted = values.toSorted((a, b) => a - b)
  const half = (sorted.length - 1) / 2
  return ((sorted[Math.floor(half)] ?? Number.NaN) + (sorted[Math.ceil(half)] ?? Number.NaN)) / 2
}

/** `left`: number of left-aligned columns. */
export const printTable = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>, left: number) => {
  const width = head.map((title, n) => Math.max(title.length, ...rows.map((row) => row[n]?.length ?? 0)))
  for (const row of [head, ...rows]) {
    const cells = row.map((cell, n) => (n < left ? cell.padEnd(width[n] ?? 0) : cell.padStart(width[n] ?? 0)))
    console.log(cells.join("  ").trimEnd())
  }
}

export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

/** Sorts its argument. All are NaN if it is empty. */
export const percentiles = (values: Float32Array): Percentiles => {
  values.sort()
  const at = (share: number) => values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}
