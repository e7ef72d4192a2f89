/** The client of `/v1` in bench/databases, in its own process, controlled through bench/support/remote.ts. */
import { setTimeout as sleep } from "node:timers/promises"
import { serve } from "../support/remote.ts"
import { type Question, Wire } from "../storage/wire.ts"
import { type Percentiles, percentiles } from "../rows/table.ts"

/** Requests that are repeated, `connections` at a time. */
export interface Stream {
  readonly origin: string
  readonly method: string
  /** Sent in turn. */
  readonly paths: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly connections: number
}

export interface Streamed {
  /** Successful responses. */
  readonly count: number
  readonly seconds: number
  /** Other responses and broken connections; the text of the first one. */
  readonly failures: number
  readonly failure: string
  /** Milliseconds of each request. */
  readonly each: Percentiles
}

const requestsOf = ({ body, headers, method, origin, paths }: Stream): ReadonlyArray<Question> => {
  const bytes = body === undefined ? undefined : Buffer.from(body)
  const all = { host: new URL(origin).host, ...headers, ...(bytes && { "content-length": String(bytes.length) }) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return paths.map((path) => ({ head: `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`, body: bytes }))
}

/** Sends requests until it is stopped; then waits for the last responses. */
const startStream = async (stream: Stream) => {
  const requests = requestsOf(stream)
  const first = requests[0]
  if (first === undefined) throw new Error("No requests")
  const wires = Array.from({ length: stream.connections }, () => new Wire(stream.origin))
  const took: Array<number> = []
  const stopping = new AbortController()
  let [next, failures, failure] = [0, 0, ""]
  const failed = (text: string) => {
    failures++
    failure ||= text.slice(0, 500)
  }
  const loop = async (index: number) => {
    while (!stopping.signal.aborted) {
      const started = performance.now()
      try {
        const { body, status } = await (wires[index] as Wire).ask(requests[next++ % requests.length] ?? first)
        if (status >= 200 && status < 300) took.push(performance.now() - started)
        else failed(`${status} ${body.toString("utf8")}`)
      } catch (error) {
        failed(String(error))
        await sleep(10)
        wires[index] = new Wire(stream.origin)
      }
    }
  }
  // Connects before the measurement.
  const hello = { head: `GET /healthz HTTP/1.1\r\nhost: ${new URL(stream.origin).host}\r\n\r\n` }
  await Promise.all(wires.map((wire) => wire.ask(hello)))
  const started = performance.now()
  const loops = wires.map((_, index) => loop(index))
  return async (): Promise<Streamed> => {
    stopping.abort()
    await Promise.all(loops)
    const seconds = (performance.now() - started) / 1000
    for (const wire of wires) wire.end()
    return { count: took.length, seconds, failures, failure, each: percentiles(Float32Array.from(took)) }
  }
}

let stops: ReadonlyArray<() => Promise<Streamed>> = []

const start = async (streams: ReadonlyArray<Stream>) => {
  stops = await Promise.all(streams.map(startStream))
}

/** The results of each stream since `start`. */
const stop = () => Promise.all(stops.map((stop) => stop()))

/** Runs a stream for some milliseconds. */
const turn = async ({ millis, stream }: { stream: Stream; millis: number }) => {
  const stop = await startStream(stream)
  await sleep(millis)
  return stop()
}

const calls = { start, stop, turn }
export type DatabaseClient = typeof calls

if (import.meta.main) serve(calls)
