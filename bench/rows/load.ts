/**
 * The load generator, a process of its own: `node bench/load.ts <JSON of LoadOptions>` prints the JSON of a LoadResult.
 */
import autocannon from "autocannon"
import { connections } from "./scenarios.ts"

export interface LoadOptions {
  readonly url: string
  readonly seconds: number
  readonly method: string
  /** Sent in turn. */
  readonly paths: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface LoadResult {
  /** Good answers a second. */
  readonly rate: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Answers other than 2xx, broken connections and time-outs. */
  readonly failures: number
}

if (import.meta.main) {
  const { body, headers, method, paths, seconds, url }: LoadOptions = JSON.parse(process.argv[2] ?? "{}")
  const request = { method, headers, ...(body === undefined ? {} : { body }) }
  const requests = paths.map((path) => Object.assign({ path }, request))
  const result = await autocannon({ url, connections, duration: seconds, requests })
  const measured: LoadResult = {
    rate: result["2xx"] / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    failures: result.non2xx + result.errors + result.timeouts
  }
  console.log(JSON.stringify(measured))
}
