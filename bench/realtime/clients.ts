/** The clients of the feed, all in one separate process (see bench/support/remote.ts). */
import { setTimeout as sleep } from "node:timers/promises"
import { WebSocket } from "ws"
import { now } from "../support/clock.ts"
import { serve } from "../support/remote.ts"
import { type Percentiles, percentiles } from "../rows/table.ts"

export interface Receipts {
  /** Messages that a client did not receive. */
  readonly missing: number
  readonly twice: number
  /** Messages received after a later one of the same connection. */
  readonly disordered: number
  readonly closed: number
  /** Milliseconds since the commit, and since the INSERT was sent. */
  readonly fromCommit: Percentiles
  readonly fromSent: Percentiles
  /** CPU seconds of this process since `expect`. */
  readonly processor: number
}

/** Connections opened concurrently. */
const atOnce = 50

const sockets: Array<WebSocket> = []
let closed = 0

/** Times of receipt since `expect`, for each client, in ms since `origin`; 0: not yet. */
let times = new Float32Array()
let first = 0
let count = 0
let origin = 0
let received = 0
let twice = 0
let processor = process.cpuUsage()

/** All clients get the same text one after the other, so it is parsed once. */
let lastText = Buffer.alloc(0)
let lastNumber = 0
const numberOf = (data: Buffer) => {
  if (!data.equals(lastText)) {
    lastText = Buffer.from(data)
    lastNumber = Number(/"n":(\d+)/.exec(data.toString())?.[1])
  }
  return lastNumber
}

const listen = (url: string, headers: Record<string, string>) =>
  new Promise<void>((resolve, reject) => {
    const socket = new WebSocket(url, { headers, perMessageDeflate: false })
    const client = sockets.push(socket) - 1
    socket.on("open", () => resolve())
    socket.on("error", reject)
    socket.on("close", () => closed++)
    socket.on("message", (data: Buffer) => {
      const index = numberOf(data) - first
      if (!(index >= 0 && index < count)) return
      const place = client * count + index
      if (times[place] === 0) {
        times[place] = now() - origin
        received++
      } else twice++
    })
  })

/** `tokens`: JWTs that clients have in turn; none if it is empty. */
const open = async ({
  clients,
  headers,
  tokens,
  url
}: {
  clients: number
  headers: Record<string, string>
  tokens: ReadonlyArray<string>
  url: string
}) => {
  let next = 0
  const one = () => {
    const token = tokens[next++ % tokens.length]
    return listen(url, token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` })
  }
  for (let left = clients; left > 0; left -= atOnce) {
    await Promise.all(Array.from({ length: Math.min(left, atOnce) }, one))
  }
  closed = 0
}

const expect = (next: { first: number; count: number }) => {
  ;({ first, count } = next)
  times = new Float32Array(sockets.length * count)
  received = twice = closed = 0
  origin = now() - 1
  processor = process.cpuUsage()
}

/** Statistics, given when each row was sent and committed; each connection wrote every `stride` rows. */
const receipts = (written: {
  sent: ReadonlyArray<number>
  committed: ReadonlyArray<number>
  stride: number
}): Receipts => {
  const { system, user } = process.cpuUsage(processor)
  let disordered = 0
  const since = (moments: ReadonlyArray<number>) => {
    const latencies = new Float32Array(received)
    let next = 0
    for (let place = 0; place < times.length; place++) {
      const time = times[place] ?? 0
      if (time > 0) latencies[next++] = time + origin - (moments[place % count] ?? 0)
    }
    return percentiles(latencies)
  }
  for (let place = 0; place < times.length; place++) {
    const before = place % count >= written.stride ? (times[place - written.stride] ?? 0) : 0
    if ((times[place] ?? 0) < before && times[place] !== 0) disordered++
  }
  return {
    missing: times.length - received,
    twice,
    disordered,
    closed,
    fromCommit: since(written.committed),
    fromSent: since(written.sent),
    processor: (user + system) / 1e6
  }
}

const close = async () => {
  for (const socket of sockets) socket.close()
  for (let tries = 0; closed < sockets.length && tries < 100; tries++) await sleep(50)
  for (const socket of sockets) socket.terminate()
  sockets.length = 0
  times = new Float32Array()
}

const calls = { open, expect, progress: () => received, receipts, close }
export type RealtimeClients = typeof calls

if (import.meta.main) serve(calls)
