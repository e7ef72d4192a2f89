import { Effect, FiberSet } from "effect"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type Socket } from "node:net"
import { type Duplex } from "node:stream"
import { sampleOf } from "../../../domain/metrics/Sample.ts"
import { CurrentMeters, type Meters } from "../../../services/metrics/Meters.ts"
import { MergedRequest } from "../../net/MergedRequest.ts"
import { closeGracefully, listen } from "../../net/Server.ts"
import { type S3Settings } from "./Exchange.ts"
import { errorReply } from "./Replies.ts"
import { type S3Code, s3Error } from "./Error.ts"
import { makeHandler } from "./Handler.ts"
import { newRequestId } from "./Request.ts"
import { type LocalStore } from "./store/Model.ts"

/** How long requests in progress may take when the endpoint stops, in ms. */
const graceMillis = 10_000

/** Serves S3 until the scope closes; yields the port. Fails with a StartError if it can't listen. */
export const serveS3 = Effect.fnUntraced(function* (
  store: LocalStore,
  settings: S3Settings,
  address: { readonly host: string; readonly port: number }
) {
  const handle = makeHandler(store, settings)
  const meters = yield* CurrentMeters
  const count = requestCounter(meters)
  const run = yield* FiberSet.makeRuntime()
  const server = makeServer((message, response) => {
    const fiber = run(handle(message, response))
    response.once("close", () => {
      fiber.interruptUnsafe()
      count(message.method ?? "", response.statusCode)
    })
  })
  const bytes = new SocketBytes(server)
  yield* meters.sample(() => [
    sampleOf("svc_s3_endpoint_bytes_total", { direction: "received" }, bytes.received),
    sampleOf("svc_s3_endpoint_bytes_total", { direction: "sent" }, bytes.sent)
  ])
  return yield* Effect.acquireRelease(
    listen(server, { ...address, name: "The S3 endpoint", setting: "S3_EMBEDDED_PORT" }),
    () => Effect.promise(() => closeGracefully(server, graceMillis))
  )
})

/** Methods of S3; a client may send others. */
const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS"])

const requestCounter = (meters: Meters) => {
  const counters = new Map<string, () => void>()
  return (given: string, status: number) => {
    const method = methods.has(given) ? given : "other"
    const key = `${method} ${status}`
    const counter =
      counters.get(key) ?? meters.counter("svc_s3_endpoint_requests_total", { method, status: String(status) })
    counters.set(key, counter)
    counter()
  }
}

/** The bytes of all connections, those that are open included. */
class SocketBytes {
  private readonly open = new Set<Socket>()
  private readonly closed = { bytesRead: 0, bytesWritten: 0 }

  constructor(server: Server) {
    server.on("connection", (socket) => {
      this.open.add(socket)
      socket.once("close", () => {
        this.open.delete(socket)
        this.closed.bytesRead += socket.bytesRead
        this.closed.bytesWritten += socket.bytesWritten
      })
    })
  }

  get received(): number {
    return Array.from(this.open).reduce((all, { bytesRead }) => all + bytesRead, this.closed.bytesRead)
  }

  get sent(): number {
    return Array.from(this.open).reduce((all, { bytesWritten }) => all + bytesWritten, this.closed.bytesWritten)
  }
}

const makeServer = (handle: (message: IncomingMessage, response: ServerResponse) => void) =>
  createServer(
    {
      IncomingMessage: MergedRequest,
      // Twice S3's: its keys, metadata and signatures take less than 8 KiB.
      maxHeaderSize: 16 * 1024,
      // The signature check covers the host.
      requireHostHeader: false,
      headersTimeout: 10_000,
      // An upload may take hours; RequestBody enforces a minimum speed.
      requestTimeout: 0,
      connectionsCheckingInterval: 2_000,
      keepAliveTimeout: 65_000,
      noDelay: true
    },
    handle
  )
    .on("checkContinue", handle)
    .on("checkExpectation", ({ socket }) =>
      refuse(socket, "BadRequest", "The only supported Expect value is 100-continue.")
    )
    .on("connect", (_message, socket: Duplex) => refuse(socket, "MethodNotAllowed"))
    .on("clientError", (error: Error & { readonly code?: string }, socket: Duplex) => {
      if (error.code === "HPE_HEADER_OVERFLOW") {
        refuse(socket, "BadRequest", "Your request header section exceeds the maximum allowed size.")
      } else if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") refuse(socket, "RequestTimeout")
      else if (error.code === "ECONNRESET") socket.destroy()
      else refuse(socket, "BadRequest", "An error occurred when parsing the HTTP request.")
    })

/** Sends an S3 error in response to bytes that are not a valid request. */
const refuse = (socket: Duplex, code: S3Code, message?: string) => {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const id = newRequestId()
  const error = s3Error(code, message)
  const body = String(errorReply(error, id, "/").body)
  const head = [
    `HTTP/1.1 ${error.status} ${error.code}`,
    "Connection: close",
    "Content-Type: application/xml",
    "X-Content-Type-Options: nosniff",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `x-amz-request-id: ${id}`
  ]
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`)
}
