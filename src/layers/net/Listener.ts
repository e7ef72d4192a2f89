import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { createServer, type Server } from "node:http"
import { type Socket } from "node:net"
import { type Duplex } from "node:stream"
import { endIdleOnClose, listenError } from "./Server.ts"
import { webSocketOptions } from "./WebSockets.ts"
import { integer, text, url } from "../../domain/Settings.ts"

const address = Effect.all({ port: integer("PORT", 3000, 0, 65_535), host: text("HOST", "127.0.0.1") })

/** Stops the start when a setting of the wire is wrong, before there is anything to listen for. */
export const layerHttpSettings = Layer.effectDiscard(Effect.all([address, url("DASHBOARD_URL")]))

/** Where the API listens, and what Node itself enforces before a request reaches us. */
export const layerHttpListener = Layer.unwrap(
  Effect.map(address, ({ host, port }) =>
    NodeHttpServer.layer(makeServer, {
      port,
      host,
      gracefulShutdownTimeout: "10 seconds",
      websocket: webSocketOptions
    }).pipe(
      // What the tap fails with is what the start fails with.
      Layer.tapError(({ cause }) => listenError({ name: "The API", host, port, setting: "PORT" }, cause))
    )
  )
)

const makeServer = (): Server =>
  endIdleOnClose(
    createServer({
      // Above our own URL limit of 16 KiB, so that a URL that is too long is answered by us.
      maxHeaderSize: 64 * 1024,
      // Left to the front door, whose answer has our error body.
      requireHostHeader: false,
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      connectionsCheckingInterval: 2_000,
      keepAliveTimeout: 65_000
    })
      .on("clientError", (error: Error & { readonly code?: string }, socket: Socket) => {
        if (error.code === "ECONNRESET") socket.destroy()
        else refuse(socket, refusals[error.code ?? ""] ?? notHttp)
      })
      .on("connect", (_request, socket: Duplex) => refuse(socket, noTunnel))
      .on("checkExpectation", ({ socket }) => refuse(socket, noExpectation))
  )

type Refusal = readonly [status: string, code: string, text: string]

const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: [
    "431 Request Header Fields Too Large",
    "HEADERS_TOO_LARGE",
    "The headers are larger than 64 KiB"
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "REQUEST_TIMEOUT", "The request took too long to arrive"]
}

const notHttp: Refusal = ["400 Bad Request", "INVALID_HTTP", "This is not valid HTTP"]
const noTunnel: Refusal = ["405 Method Not Allowed", "METHOD_NOT_ALLOWED", "This is no proxy: CONNECT is not known"]
const noExpectation: Refusal = ["417 Expectation Failed", "INVALID_HTTP", "The only Expect that is met is 100-continue"]

/** What never becomes a request gets our error body too. */
const refuse = (socket: Duplex, [status, code, text]: Refusal) => {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const request_id = randomUUID()
  const body = JSON.stringify({ error: text, code, message: text, details: null, hint: null, request_id })
  const head = [
    `HTTP/1.1 ${status}`,
    "Connection: close",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${request_id}`
  ]
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`)
}
