import { NodeHttpServer } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { createServer, type Server } from "node:http"
import { type Socket } from "node:net"
import { integer, text } from "../domain/Settings.ts"

/** Where the API listens, and what Node itself enforces before a request reaches us. */
export const layerHttpListener = Layer.unwrap(
  Effect.gen(function* () {
    const port = yield* integer("PORT", 3000, 0, 65_535)
    const host = yield* text("HOST", "127.0.0.1")
    return NodeHttpServer.layer(makeServer, { port, host, gracefulShutdownTimeout: "10 seconds" })
  })
)

const makeServer = (): Server =>
  createServer({
    // Above our own URL limit of 16 KiB, so that a URL that is too long is answered by us.
    maxHeaderSize: 64 * 1024,
    headersTimeout: 15_000,
    requestTimeout: 60_000,
    connectionsCheckingInterval: 5_000,
    keepAliveTimeout: 65_000
  }).on("clientError", refuse)

const refusals: Readonly<Record<string, readonly [status: string, code: string, text: string]>> = {
  HPE_HEADER_OVERFLOW: [
    "431 Request Header Fields Too Large",
    "HEADERS_TOO_LARGE",
    "The headers are larger than 64 KiB"
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "REQUEST_TIMEOUT", "The request took too long to arrive"]
}

/** What is no HTTP at all gets our error body too. */
const refuse = (error: Error & { readonly code?: string }, socket: Socket) => {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy()
    return
  }
  const [status, code, text] = refusals[error.code ?? ""] ?? [
    "400 Bad Request",
    "INVALID_HTTP",
    "This is not valid HTTP"
  ]
  const body = JSON.stringify({ error: text, code, message: text, details: null, hint: null, request_id: "" })
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}
