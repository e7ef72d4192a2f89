import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { WebSocket } from "ws"
import { type Balancer } from "./balancer.ts"

export interface Receiver {
  readonly url: string
  /** The webhook-ids of each operation's deliveries; one that is delivered again has the same. */
  readonly deliveries: ReadonlyMap<string, ReadonlySet<string>>
  /** Deliveries of a webhook-id that had been received before. */
  readonly repeats: () => number
  readonly close: () => void
}

/** Receives webhooks. */
export const makeReceiver = async (): Promise<Receiver> => {
  const deliveries = new Map<string, Set<string>>()
  let repeats = 0
  const server = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (part: string) => (text += part))
    request.on("end", () => {
      const { op } = (JSON.parse(text) as { readonly row: { readonly op: string } }).row
      const id = String(request.headers["webhook-id"])
      const ids = deliveries.get(op) ?? new Set()
      if (ids.has(id)) repeats++
      deliveries.set(op, ids.add(id))
      response.end()
    })
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { url, deliveries, repeats: () => repeats, close: () => server.close() }
}

interface Message {
  readonly id: number
  readonly row?: { readonly op: string; readonly part: number }
  readonly gap?: true
  readonly oldest?: number
}

/** A client of /realtime that resumes where it was, at any replica. */
export class Subscriber {
  /** When each operation's part was received first, in ms. */
  readonly heard = new Map<string, number>()
  /** When a gap was received, in ms: what was written before may be missing. */
  readonly gaps: Array<number> = []
  /** Operations that were received again without a gap in between. */
  repeats = 0
  connections = 0
  private last: number | undefined
  private closed = false
  private socket: WebSocket | undefined

  async run(balancer: Balancer, key: string): Promise<void> {
    while (!this.closed) {
      const replica = balancer.next()
      if (replica === undefined) {
        await sleep(100)
        continue
      }
      const since = this.last === undefined ? "" : `&since=${this.last}`
      const socket = new WebSocket(`${replica.url.replace("http", "ws")}/realtime?apikey=${key}${since}`)
      this.socket = socket
      socket.on("open", () => {
        this.connections++
        // Without an id to resume from, the client knows that it may have missed events.
        if (since === "") this.gaps.push(Date.now())
      })
      socket.on("message", (data: Buffer) => this.receive(JSON.parse(data.toString()) as Message))
      socket.on("error", () => undefined)
      // A suspended replica does not close its connections.
      const timer = setInterval(() => replica.ready || socket.terminate(), 500)
      await new Promise((end) => socket.once("close", end))
      clearInterval(timer)
      await sleep(50)
    }
  }

  close() {
    this.closed = true
    this.socket?.terminate()
  }

  private receive({ gap, id, oldest, row }: Message) {
    const now = Date.now()
    if (gap === true) {
      this.gaps.push(now)
      this.last = oldest
      return
    }
    this.last = id
    const op = `${row?.op} ${row?.part}`
    const before = this.heard.get(op)
    if (before === undefined) this.heard.set(op, now)
    else if (!this.gaps.some((at) => at >= before)) this.repeats++
  }
}
