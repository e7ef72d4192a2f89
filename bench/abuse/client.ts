/** One connection of a client that may misbehave. */
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { type Response, ResponseReader } from "./responses.ts"

export interface Request {
  readonly method: string
  /** The head and, if there is one, the body. */
  readonly bytes: ReadonlyArray<Uint8Array>
}

type Headers = Readonly<Record<string, string>>

/** A request with these headers. A body gets a Content-Length unless they say otherwise. */
export const request = (method: string, path: string, headers: Headers, body?: string | Uint8Array): Request => {
  const bytes = typeof body === "string" ? Buffer.from(body) : body
  const lines = [`${method} ${path} HTTP/1.1`, "Host: localhost"]
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  if (bytes !== undefined && headers["transfer-encoding"] === undefined && headers["content-length"] === undefined)
    lines.push(`content-length: ${bytes.length}`)
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1")
  return { method, bytes: bytes === undefined ? [head] : [head, bytes] }
}

/** How a request ended: with a response, without one because the connection closed, or before there was a connection. */
export type Outcome = Response | "closed" | "refused"

/** How long a client waits after a connection was refused, in ms. */
const refusedMillis = 50

export class Client {
  /** Of all clients of a run, from 0. */
  readonly index: number
  private readonly address: { readonly port: number; readonly localAddress: string }
  private readonly count: (outcome: Outcome) => void
  /** Requests of other protocols without a response. */
  private others = 0
  private socket: Socket | undefined
  private reader: ResponseReader | undefined
  private waiting: Array<(response: Response | undefined) => void> = []
  private closing = Promise.withResolvers<void>()

  constructor(
    index: number,
    address: { readonly port: number; readonly localAddress: string },
    count: (outcome: Outcome) => void
  ) {
    this.index = index
    this.address = address
    this.count = count
  }

  /** Requests without a response. */
  get outstanding() {
    return this.waiting.length + this.others
  }

  /** Counts a request of another protocol, which it sends over a connection of its own; the result ends it. */
  track(): (status: number | undefined) => void {
    this.others += 1
    return (status) => {
      this.others -= 1
      this.count(status === undefined ? "closed" : { method: "POST", status, head: "", size: 0, body: "" })
    }
  }

  /** Settles when the connection has closed. */
  get closed(): Promise<void> {
    return this.socket === undefined ? Promise.resolve() : this.closing.promise
  }

  /** Connects unless connected. False if the connection was refused. */
  async open(): Promise<boolean> {
    if (this.socket !== undefined) return true
    const socket = connect({ host: "127.0.0.1", noDelay: true, ...this.address })
    const connected = await new Promise<boolean>((done) => {
      socket.once("connect", () => done(true)).once("error", () => done(false))
    })
    if (!connected) {
      this.count("refused")
      await sleep(refusedMillis)
      return false
    }
    const reader = new ResponseReader((response) => {
      this.count(response)
      this.waiting.shift()?.(response)
      if (/\r\nconnection: *close/i.test(response.head)) {
        this.lost(socket)
        socket.destroy()
      }
    })
    this.socket = socket
    this.reader = reader
    this.closing = Promise.withResolvers()
    socket
      .on("data", (bytes) => reader.push(bytes))
      .on("error", () => undefined)
      .once("end", () => reader.end())
      .once("close", () => this.lost(socket))
    return true
  }

  /** Sends a request; resolves with undefined if the connection ends without a response. */
  async send(request: Request): Promise<Response | undefined> {
    return (await this.open()) ? this.start(request) : undefined
  }

  /** Sends all requests at once, each without waiting for the response to the one before. */
  async pipeline(requests: ReadonlyArray<Request>): Promise<void> {
    if (!(await this.open())) return
    this.socket?.cork()
    const responses = requests.map((request) => this.start(request))
    this.socket?.uncork()
    await Promise.all(responses)
  }

  /** Sends requests and never reads a byte of the responses. Settles when the server has closed the connection. */
  async ignore(requests: ReadonlyArray<Request>): Promise<void> {
    if (!(await this.open())) return
    this.socket?.pause()
    for (const request of requests) void this.start(request)
    // A connection that nothing is read from notices only by writing that the server has closed it. Servers ignore this.
    while (this.write("\r\n")) await sleep(1_000)
  }

  /** Sends bytes that are no whole request. False if there is no connection any more. */
  write(bytes: Uint8Array | string): boolean {
    this.socket?.write(bytes)
    return this.socket !== undefined
  }

  /** Bytes that are not sent yet. */
  get unsent(): number {
    return this.socket?.writableLength ?? 0
  }

  /** Ends the sending side. */
  end() {
    this.socket?.end()
  }

  close() {
    this.socket?.destroy()
  }

  private start({ bytes, method }: Request) {
    const { promise, resolve } = Promise.withResolvers<Response | undefined>()
    this.waiting.push(resolve)
    this.reader?.expect(method)
    this.socket?.cork()
    for (const part of bytes) this.socket?.write(part)
    this.socket?.uncork()
    return promise
  }

  private lost(socket: Socket) {
    if (this.socket !== socket) return
    this.socket = undefined
    const waiting = this.waiting
    this.waiting = []
    for (const done of waiting) {
      this.count("closed")
      done(undefined)
    }
    this.closing.resolve()
  }
}
