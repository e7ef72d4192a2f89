import type { Minute } from "./queries.ts"

/** The drawing's own size; it is stretched to its place. */
export const [width, height] = [600, 100]

/** One of the stacked parts of a minute's bar, from `y` downwards. */
interface Part {
  readonly kind: "fine" | "refused" | "errors"
  readonly y: number
  readonly height: number
}

export interface Drawing {
  /** The most requests of a minute, and the longest p95 in ms; at least 1. */
  readonly mostRequests: number
  readonly longest: number
  readonly bars: ReadonlyArray<{ readonly x: number; readonly width: number; readonly parts: ReadonlyArray<Part> }>
  /** The p95 as paths, interrupted by minutes without requests. */
  readonly line: string
}

/** Bars of requests, those of errors below, and a line of p95, each in a scale of its own. */
export const drawingOf = (minutes: ReadonlyArray<Pick<Minute, "requests" | "refused" | "errors" | "p95">>): Drawing => {
  const mostRequests = Math.max(1, ...minutes.map(({ requests }) => requests))
  const longest = Math.max(1, ...minutes.map(({ p95 }) => p95 ?? 0))
  const step = width / Math.max(1, minutes.length)
  const bars = minutes.map(({ errors, refused, requests }, at) => {
    let bottom = height
    const parts = (
      [
        ["errors", errors],
        ["refused", refused],
        ["fine", requests - refused - errors]
      ] as const
    ).flatMap(([kind, count]): ReadonlyArray<Part> => {
      if (count === 0) return []
      // A single error among thousands must be seen.
      const size = Math.max((count / mostRequests) * height, kind === "fine" ? 0.5 : 2)
      bottom -= size
      return [{ kind, y: bottom, height: size }]
    })
    return { x: at * step + step * 0.1, width: step * 0.8, parts }
  })
  const point = (p95: number, at: number) =>
    `${((at + 0.5) * step).toFixed(1)} ${(height - (p95 / longest) * height).toFixed(1)}`
  let line = ""
  for (const [at, { p95 }] of minutes.entries()) {
    if (p95 === null) continue
    const before = at === 0 ? null : (minutes[at - 1]?.p95 ?? null)
    // A point alone is drawn by the round end of a line of no length.
    line += before === null ? `M${point(p95, at)}L${point(p95, at)}` : `L${point(p95, at)}`
  }
  return { mostRequests, longest, bars, line }
}

export const milliseconds = (value: number | null) =>
  value === null ? "–" : value < 1000 ? `${Number(value.toPrecision(2))} ms` : `${(value / 1000).toPrecision(2)} s`
