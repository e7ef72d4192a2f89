/** A load generator of one process, which also measures its own processor time. See bench/support/remote.ts. */
import autocannon from "autocannon"
import { serve } from "../support/remote.ts"

export interface Load {
  readonly url: string
  readonly seconds: number
  readonly connections: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The status of every response; others are failures. */
  readonly status: number
}

export interface Measured {
  readonly requests: number
  readonly failures: number
  /** Seconds of the clock, and of this process's time on a processor. */
  readonly seconds: number
  readonly processor: number
}

const run = async ({ body, connections, headers, method, path, seconds, status, url }: Load): Promise<Measured> => {
  const before = process.cpuUsage()
  const request = { method, path, headers, ...(body === undefined ? {} : { body }) }
  const result = await autocannon({ url, connections, duration: seconds, requests: [request] })
  const { system, user } = process.cpuUsage(before)
  const requests = status < 300 ? result["2xx"] : result["4xx"]
  const failures = result["2xx"] + result.non2xx - requests + result.errors + result.timeouts
  return { requests, failures, seconds: result.duration, processor: (system + user) / 1e6 }
}

const calls = { run }
export type LoadProcess = typeof calls

if (import.meta.main) serve(calls)
