/**
 * The load generator, in a separate process: `node bench/rows/load.ts <JSON of LoadOptions>` prints the JSON of a
 * LoadResult.
 */
import autocannon from "autocannon"
import { connections as usual } from "./scenarios.ts"

export interface LoadOptions {
  readonly url: string
  readonly seconds: number
  /** 32 if undefined. */
  readonly connections?: number | undefined
  readonly method: string
  /** Sent in turn. */
  readonly paths: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface LoadResult {
  /** Successful responses per second. */
  readonly rate: number
  /** Successful responses. */
  readonly count: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Responses other than 2xx, connection errors and timeouts. */
  readonly failures: number
}

if (import.meta.main) {
  const {
    body,
    connections = usual,
    headers,
    method,
    paths,
    seconds,
    url
  }: LoadOptions = JSON.parse(process.argv[2] ?? "{}")
  const request = { method, headers, ...(body === undefined ? {} : { body }) }
  const requests = paths.map((path) => Object.assign({ path }, request))
  const result = await autocannon({ url, connections, duration: seconds, requests })
  const measured: LoadResult = {
    rate: result["2xx"] / result.duration,
    count: result["2xx"],
    p50: result.latency.p50,
    p99: result.latency.p99,
    failures: result.non2xx + result.errors + result.timeouts
  }
  console.log(JSON.stringify(measured))
}
