import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import { type AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

/** A delivery as it arrived. */
interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The very bytes. */
  readonly body: Buffer
  /** The body as JSON. */
  readonly json: Delivered
  /** When it was complete, in ms since 1970. */
  readonly at: number
}

interface Delivered {
  readonly event: string
  readonly schema: string
  readonly table: string
  readonly row: Readonly<Record<string, unknown>> | null
  readonly old_row: Readonly<Record<string, unknown>> | null
  readonly timestamp: string
}

/** The response of a receiver, by default 200 at once. */
interface Answer {
  readonly status?: number
  readonly delay?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Accepts the request and never responds. */
  readonly hang?: boolean
  /** Closes the connection instead of responding. */
  readonly reset?: boolean
}

/** An HTTP server on loopback that records the requests it receives. */
export interface Receiver extends AsyncDisposable {
  readonly url: string
  /** All requests, in order. */
  readonly received: Array<Received>
  /** May be changed at any time. */
  answer: (received: Received) => Answer
  /** Pending requests, and their highest number so far. */
  open: number
  mostOpen: number
  readonly at: (path: string) => ReadonlyArray<Received>
  /** Waits until `wanted` requests to a path have arrived. */
  readonly count: (path: string, wanted: number, millis?: number) => Promise<ReadonlyArray<Received>>
}

export const startReceiver = async (host = "127.0.0.1"): Promise<Receiver> => {
  const received: Array<Received> = []
  const server = createServer((request, response) => {
    receiver.open++
    receiver.mostOpen = Math.max(receiver.mostOpen, receiver.open)
    response.once("close", () => receiver.open--)
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.once("end", () => {
      const body = Buffer.concat(chunks)
      const one: Received = {
        path: request.url ?? "",
        headers: request.headers,
        body,
        get json() {
          return JSON.parse(body.toString("utf8")) as Delivered
        },
        at: Date.now()
      }
      received.push(one)
      void reply(response, receiver.answer(one))
    })
  })
  const receiver: Receiver = {
    url: "",
    received,
    answer: () => ({}),
    open: 0,
    mostOpen: 0,
    at: (path) => received.filter((one) => one.path === path),
    count: async (path, wanted, millis = 10_000) => {
      for (const deadline = Date.now() + millis; Date.now() < deadline; await sleep(10)) {
        if (receiver.at(path).length >= wanted) break
      }
      const found = receiver.at(path)
      if (found.length < wanted) throw new Error(`${found.length} instead of ${wanted} deliveries came to ${path}`)
      return found
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
  }
  await new Promise<void>((listening) => server.listen(0, host, listening))
  const { port } = server.address() as AddressInfo
  return Object.assign(receiver, { url: `http://${host.includes(":") ? `[${host}]` : host}:${port}` })
}

const reply = async (response: ServerResponse, { body = "", delay = 0, hang, headers, reset, status }: Answer) => {
  if (hang === true) return
  if (delay > 0) await sleep(delay)
  if (reset === true) return void response.destroy()
  response.writeHead(status ?? 200, headers)
  response.end(body)
}
