/** Requests one row after another over one connection, and records each duration. See bench/support/remote.ts. */
import { Agent, get } from "node:http"
import { now } from "./clock.ts"
import { serve } from "./remote.ts"
import { type Percentiles, percentiles } from "../rows/table.ts"

interface Asking {
  readonly url: string
  /** Requested in turn. */
  readonly paths: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string>>
}

/** Milliseconds. */
export interface Asked extends Percentiles {
  readonly count: number
  /** Responses other than 200. */
  readonly failures: number
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

const one = (url: string, headers: Asking["headers"]) =>
  new Promise<boolean>((resolve) => {
    get(url, { agent, headers }, (response) => {
      response.on("end", () => resolve(response.statusCode === 200)).resume()
    }).on("error", () => resolve(false))
  })

const ask = async ({ headers, paths, url }: Asking, { signal }: AbortController): Promise<Asked> => {
  const took: Array<number> = []
  let failures = 0
  for (let n = 0; !signal.aborted; n++) {
    const began = now()
    if (!(await one(url + (paths[n % paths.length] ?? ""), headers))) failures += 1
    took.push(now() - began)
  }
  return { count: took.length, failures, ...percentiles(Float32Array.from(took)) }
}

let turn: { readonly stop: AbortController; readonly asked: Promise<Asked> } | undefined

/** Starts the requests, until `end`. */
const begin = (asking: Asking) => {
  const stop = new AbortController()
  turn = { stop, asked: ask(asking, stop) }
}

const end = () => {
  if (turn === undefined) throw new Error("Nothing has begun")
  turn.stop.abort()
  return turn.asked
}

const calls = { begin, end }
export type Asker = typeof calls

if (import.meta.main) serve(calls)
