/**
 * Sends requests at a fixed rate, however long the responses take (open loop): see bench/support/remote.ts. Durations
 * count from the moment at which a request was due, so a stall counts for every request that it delays.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { Pool } from "undici"
import { now } from "../support/clock.ts"
import { serve } from "../support/remote.ts"
import { type Percentiles, percentiles } from "./table.ts"

interface Load {
  readonly url: string
  /** Requests per second. */
  readonly rate: number
  readonly seconds: number
  readonly method: "GET" | "POST"
  /** Sent in turn. */
  readonly paths: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Durations in ms. */
export interface OpenLoopResult extends Percentiles {
  readonly p999: number
  readonly count: number
  /** Responses other than 2xx, and lost connections. */
  readonly failures: number
  /** Longest delay of the generator itself. */
  readonly late: number
}

const connections = 128

const run = async ({ body, headers, method, paths, rate, seconds, url }: Load): Promise<OpenLoopResult> => {
  const pool = new Pool(url, { connections, pipelining: 1 })
  const total = Math.round(rate * seconds)
  const took = new Float32Array(total)
  const all = Promise.withResolvers<void>()
  let done = 0
  let failures = 0
  const send = (index: number, due: number) => {
    let status = 0
    const end = (failed: boolean) => {
      took[index] = now() - due
      if (failed) failures++
      if (++done === total) all.resolve()
    }
    pool.dispatch(
      { path: paths[index % paths.length] ?? "/", method, headers, body: body ?? null },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_, code) => void (status = code),
        onResponseData: () => undefined,
        onResponseEnd: () => end(status < 200 || status > 299),
        onResponseError: () => end(true)
      }
    )
  }
  const began = now()
  let late = 0
  for (let sent = 0; sent < total;) {
    await sleep(1)
    const due = Math.min(total, Math.floor(((now() - began) * rate) / 1000))
    late = Math.max(late, now() - began - (1000 * sent) / rate)
    for (; sent < due; sent++) send(sent, began + (1000 * sent) / rate)
  }
  await all.promise
  await pool.close()
  // The first connections are opened while they are counted, so the first tenth is left out.
  const counted = took.subarray(Math.floor(total / 10))
  const { length } = counted
  const summary = percentiles(counted)
  return { ...summary, p999: counted[Math.floor(length * 0.999)] ?? Number.NaN, count: total, failures, late }
}

const calls = { run }
export type OpenLoop = typeof calls

if (import.meta.main) serve(calls)
