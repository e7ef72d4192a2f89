import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { WebSocket } from "ws"
import { type Balancer } from "./balancer.ts"

export interface Receiver {
  readonly url: string
  /** The webhook-ids of each operation's deliveries; one that is delivered again has the same. */
  readonly deliveries: ReadonlyMap<string, ReadonlySet<string>>
  /** For each delivery of a webhook-id that had been received before: when it was received first, in ms. */
  readonly repeats: ReadonlyArray<number>
  readonly close: () => void
}

/** Receives webhooks. */
export const makeReceiver = async (): Promise<Receiver> => {
  const deliveries = new Map<string, Set<string>>()
  const firstAt = new Map<string, number>()
  const repeats: Array<number> = []
  const server = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (part: string) => (text += part))
    request.on("end", () => {
      const { op } = (JSON.parse(text) as { readonly row: { readonly op: string } }).row
      const id = String(request.headers["webhook-id"])
      const before = firstAt.get(id)
      if (before === undefined) firstAt.set(id, Date.now())
      else repeats.push(before)
      const ids = deliveries.get(op) ?? new Set()
      deliveries.set(op, ids.add(id))
      response.end()
    })
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { url, deliveries, repeats, close: () => server.close() }
}

interface Message {
  readonly id: number
  readonly row?: { readonly op: string; readonly part: number }
  readonly gap?: true
  readonly oldest?: number
}

/** A connection that has not answered a ping for so long, in ms, is given up: a suspended replica does not close its own. */
const silence = 3_000

/** A client of /realtime that resumes where it was, at any replica. */
export class Subscriber {
  /** When each operation's part was received first, in ms. */
  readonly heard = new Map<string, number>()
  /** When a gap was received, in ms: what was committed before may be missing. */
  readonly gaps: Array<number> = []
  /** Operations that were received again without a gap in between. */
  readonly repeats: Array<string> = []
  connections = 0
  readonly name: string
  // A client without `since` gets no gaps.
  private last = 0
  private closed = false
  private socket: WebSocket | undefined
  private readonly query: string

  /** `query`: its credentials. */
  constructor(name: string, query: string) {
    this.name = name
    this.query = query
  }

  async run(balancer: Balancer): Promise<void> {
    while (!this.closed) {
      const url = balancer.next()
      if (url === undefined) {
        await sleep(100)
        continue
      }
      const address = `${url.replace("http", "ws")}/realtime?${this.query}&since=${this.last}`
      const socket = new WebSocket(address, { handshakeTimeout: silence })
      this.socket = socket
      let alive = Date.now()
      socket.on("open", () => {
        this.connections++
        alive = Date.now()
      })
      socket.on("pong", () => (alive = Date.now()))
      socket.on("message", (data: Buffer) => this.receive(JSON.parse(data.toString()) as Message))
      socket.on("error", () => undefined)
      const timer = setInterval(() => {
        if (socket.readyState !== WebSocket.OPEN) return
        if (Date.now() - alive > silence) socket.terminate()
        else socket.ping()
      }, 500)
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
      this.last = oldest ?? this.last
      return
    }
    this.last = id
    const op = `${row?.op} ${row?.part}`
    const before = this.heard.get(op)
    if (before === undefined) this.heard.set(op, now)
    else if (!this.gaps.some((at) => at >= before)) this.repeats.push(op)
  }
}
