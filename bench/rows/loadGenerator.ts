/** Requests one row after another over one connection, and records each duration. See bench/support/remote.ts. */
import { Agent, get } from "node:http"
import { now } from "../support/clock.ts"
import { serve } from "../support/remote.ts"
import { type Percentiles, percentiles } from "./table.ts"

interface Load {
  readonly url: string
  /** Requested in turn. */
  readonly paths: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string>>
}

/** Durations in ms. */
export interface LoadResult extends Percentiles {
  readonly count: number
  /** Responses other than 200. */
  readonly failures: number
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

const one = (url: string, headers: Load["headers"]) =>
  new Promise<boolean>((resolve) => {
    get(url, { agent, headers }, (response) => {
      response.on("end", () => resolve(response.statusCode === 200)).resume()
    }).on("error", () => resolve(false))
  })

const run = async ({ headers, paths, url }: Load, { signal }: AbortController): Promise<LoadResult> => {
  const took: Array<number> = []
  let failures = 0
  for (let n = 0; !signal.aborted; n++) {
    const began = now()
    if (!(await one(url + (paths[n % paths.length] ?? ""), headers))) failures += 1
    took.push(now() - began)
  }
  return { count: took.length, failures, ...percentiles(Float32Array.from(took)) }
}

let running: { readonly stop: AbortController; readonly result: Promise<LoadResult> } | undefined

/** Sends requests until `end`. */
const begin = (load: Load) => {
  const stop = new AbortController()
  running = { stop, result: run(load, stop) }
}

const end = () => {
  if (running === undefined) throw new Error("No load is running")
  running.stop.abort()
  return running.result
}

const calls = { begin, end }
export type LoadGenerator = typeof calls

if (import.meta.main) serve(calls)
