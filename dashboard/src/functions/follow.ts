import { open } from "../wire/request.ts"

export interface LogLine {
  readonly id: number
  readonly version: number
  readonly at: string
  readonly level: string
  readonly request_id: string
  readonly text: string
}

/** Lines that are kept, and that are read of the past. */
export const mostKept = 1000
const past = 200
/** ms before each attempt to connect again. */
const steps = [500, 1000, 2000, 5000, 10_000]

interface Followed {
  readonly signal: AbortSignal
  readonly onLines: (lines: ReadonlyArray<LogLine>) => void
  /** Undefined: connected. */
  readonly onState: (problem: string | undefined) => void
}

const read = async (name: string, after: number | undefined, { onLines, onState, signal }: Followed) => {
  const from = after === undefined ? `limit=${past}` : `after=${after}`
  const response = await open(`/api/functions/${name}/logs?follow=true&${from}`, { signal })
  onState(undefined)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ""
  for (;;) {
    const { done, value = "" } = (await reader?.read()) ?? { done: true }
    if (done) return
    const lines = (rest + value).split("\n")
    rest = lines.pop() ?? ""
    const read = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as LogLine)
    if (read.length > 0) onLines(read)
  }
}

/** Follows what a function prints until the signal, from the last line after each interruption. */
export const follow = async (name: string, followed: Followed): Promise<void> => {
  const { onLines, onState, signal } = followed
  let after: number | undefined
  let failures = 0
  while (!signal.aborted) {
    let problem = "The connection was lost"
    try {
      await read(name, after, {
        ...followed,
        onState: (state) => {
          failures = 0
          onState(state)
        },
        onLines: (lines) => {
          after = lines.at(-1)?.id ?? after
          onLines(lines)
        }
      })
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error)
    }
    if (signal.aborted) return
    onState(problem)
    const step = steps[Math.min(failures++, steps.length - 1)] ?? 0
    // Browsers that lost their connections together do not return together.
    await new Promise<void>((done) => {
      const timer = setTimeout(done, step * (0.8 + 0.4 * Math.random()))
      signal.addEventListener("abort", () => {
        clearTimeout(timer)
        done()
      })
    })
  }
}
