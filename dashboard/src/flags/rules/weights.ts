import type { Weights } from "./rule.ts"

const total = 100

/** Whole parts of a number, as even as can be, in the proportion of the weights (evenly, if all are 0). */
const divide = (sum: number, weights: ReadonlyArray<number>): ReadonlyArray<number> => {
  const all = weights.reduce((one, other) => one + other, 0)
  const shares = weights.map((weight) => (all === 0 ? sum / weights.length : (sum * weight) / all))
  const parts = shares.map(Math.floor)
  let left = sum - parts.reduce((one, other) => one + other, 0)
  // What is left goes to those who lost most.
  const order = shares.map((share, at) => ({ at, lost: share - Math.floor(share) })).toSorted((a, b) => b.lost - a.lost)
  for (const { at } of order) if (left-- > 0) parts[at] = (parts[at] ?? 0) + 1
  return parts
}

/** One weight is set; the others share what is left, in their proportion. */
export const withWeight = (weights: Weights, index: number, weight: number): Weights => {
  if (weights.length === 1) return weights.map(([variant]) => [variant, total])
  const wanted = Math.max(0, Math.min(total, Math.round(weight)))
  const others = weights.flatMap(([, one], at) => (at === index ? [] : [Math.max(0, one)]))
  const parts = divide(total - wanted, others)
  return weights.map(([variant], at) => [variant, at === index ? wanted : (parts[at < index ? at : at - 1] ?? 0)])
}

/** Equal weights for all of the variants. */
export const evenly = (variants: ReadonlyArray<string>): Weights => {
  const parts = divide(
    total,
    variants.map(() => 1)
  )
  return variants.map((variant, at) => [variant, parts[at] ?? 0])
}

/** Without one; the others share its part. */
export const withoutVariant = (weights: Weights, index: number): Weights => {
  const left = weights.filter((_, at) => at !== index)
  const parts = divide(
    total,
    left.map(([, weight]) => Math.max(0, weight))
  )
  return left.map(([variant], at) => [variant, parts[at] ?? 0])
}
