/** The receiver of webhooks, in a separate process (see bench/support/remote.ts). */
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import { type AddressInfo } from "node:net"
import { now } from "../support/clock.ts"
import { serve } from "../support/remote.ts"
import { type Percentiles, percentiles } from "../rows/table.ts"

export interface Received {
  readonly missing: number
  /** Duplicate deliveries; webhooks are delivered at least once. */
  readonly again: number
  /** Milliseconds from the first receipt, or from the end of `hold`, to the last one. */
  readonly took: number
  readonly fromCommit: Percentiles
}

/** Times of receipt since `expect`, in ms since `origin`; 0: not yet. */
let times = new Float32Array()
let first = 0
let origin = 0
let received = 0
let again = 0
let released = 0

let holding = false
const held: Array<ServerResponse> = []

const note = (body: string) => {
  const index = Number(/"n":(\d+)/.exec(body)?.[1]) - first
  if (!(index >= 0 && index < times.length)) return
  if (times[index] === 0) {
    times[index] = now() - origin
    received++
  } else again++
}

const start = async () => {
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (part: string) => (body += part))
    request.on("end", () => {
      note(body)
      if (holding) held.push(response)
      else response.end()
    })
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const expect = (next: { first: number; count: number }) => {
  first = next.first
  times = new Float32Array(next.count)
  received = again = released = 0
  origin = now() - 1
}

/** While true, requests are read but not answered. */
const hold = (on: boolean) => {
  holding = on
  if (on) return
  released = now() - origin
  for (const response of held.splice(0)) response.end()
}

/** Statistics, given the time of each commit. */
const receipts = (committed: ReadonlyArray<number>): Received => {
  const seen = times.filter((time) => time > 0).sort()
  const latencies = new Float32Array(received)
  let next = 0
  times.forEach((time, index) => {
    if (time > 0) latencies[next++] = time + origin - (committed[index] ?? 0)
  })
  return {
    missing: times.length - received,
    again,
    took: (seen.at(-1) ?? 0) - Math.max(seen[0] ?? 0, released),
    fromCommit: percentiles(latencies)
  }
}

const calls = { start, expect, hold, progress: () => received, receipts }
export type Sink = typeof calls

if (import.meta.main) serve(calls)
