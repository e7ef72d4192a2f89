import { Effect } from "effect"
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from "node:http"
import { constants, createServer as createHttp2, type Http2ServerRequest, type Http2ServerResponse } from "node:http2"
import { type Socket } from "node:net"
import { loopTurn } from "../../../services/LoopTurn.ts"
import { MergedRequest } from "../../net/MergedRequest.ts"
import { closeGracefully, listen, type ListenAddress } from "../../net/Server.ts"
import { noExpectation, noTunnel, refusalOf, refuse, refuseInvalid, tooLate } from "../../net/Refusal.ts"
import { FlagSessions } from "./Sessions.ts"

export type NodeRequest = IncomingMessage | Http2ServerRequest
export type NodeResponse = ServerResponse | Http2ServerResponse
/** `expect` sets the time from now in which the rest of the request must arrive, in ms. */
type Handle = (request: NodeRequest, response: NodeResponse, expect: (millis: number) => void) => void

/** Time limit for receiving a request, in ms. */
const arrivalMillis = 10_000
/** Time limit for the rest of a request after its response, in ms. */
const restMillis = 1_000
/** Time limit for open requests when the port closes, in ms. */
const graceMillis = 5_000
/** Maximum connections of one port. */
const maxConnections = 10_000
const maxHeaderSize = 64 * 1024
/** Maximum open calls of one connection, without its streams. Clients send further ones when others end. */
const maxCalls = 28

export interface FlagPortOptions extends ListenAddress {
  /** Whether the port also serves HTTP/2 without TLS. */
  readonly http2: boolean
  /** Maximum number of streams of one connection. */
  readonly streams: number
  /** Origins whose pages may call the port; `*` for all. */
  readonly corsOrigins: ReadonlyArray<string>
  /** Receives internal errors, which must not end the process. */
  readonly report: (cause: unknown) => void
}

export interface FlagPort {
  readonly port: number
  /** Accepts no new requests and waits a limited time for open ones. */
  readonly close: Effect.Effect<void>
}

/** Serves until the scope closes or `close` runs. Fails with a StartError if the port can't be opened. */
export const serveFlagPort = Effect.fnUntraced(function* (options: FlagPortOptions, handle: Handle) {
  const { server, ...made } = makeServer(options, handle)
  let closed: Promise<void> | undefined
  const close = Effect.promise(() => (closed ??= made.close()))
  const port = yield* Effect.acquireRelease(listen(server, options), () => close)
  return { port, close } satisfies FlagPort
})

export const peerAddress = (request: NodeRequest) => request.socket.remoteAddress ?? ""

/** Ends the exchange without a response. */
export const abort = (response: NodeResponse, code: number = constants.NGHTTP2_CANCEL) => {
  if ("stream" in response) response.stream?.close(code)
  else response.destroy()
}

/** Response headers that browser clients of gRPC-Web, Connect and OFREP read. */
const exposed =
  "ETag, Retry-After, Content-Encoding, Connect-Content-Encoding, Grpc-Encoding, Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin"

/** Sets the CORS headers, without credentials: these ports have none. True if it has answered a preflight. */
const answersPreflight = (origins: ReadonlyArray<string>, request: NodeRequest, response: NodeResponse) => {
  const { origin } = request.headers
  if (origin === undefined || origins.length === 0) return false
  const anyOrigin = origins.includes("*")
  if (!anyOrigin) response.setHeader("vary", "Origin")
  const allowed = anyOrigin || origins.includes(origin)
  if (allowed) {
    response.setHeader("access-control-allow-origin", anyOrigin ? "*" : origin)
    response.setHeader("access-control-expose-headers", exposed)
  }
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return false
  if (allowed) {
    response.setHeader("access-control-allow-methods", "POST")
    response.setHeader("access-control-allow-headers", request.headers["access-control-request-headers"] ?? "*")
    response.setHeader("access-control-max-age", "7200")
  }
  response.statusCode = 204
  response.end()
  return true
}

/** Ends an exchange whose request does not arrive. Clients over HTTP/2 have a status for that. */
const endLate = (response: NodeResponse) => {
  if ("stream" in response || response.headersSent) return abort(response)
  const { body, headers } = refusalOf(tooLate)
  response.writeHead(408, { ...headers, connection: "close" }).end(body)
}

const makeServer = (options: FlagPortOptions, handle: Handle) => {
  const guarded = (request: NodeRequest, response: NodeResponse) => {
    // Disconnects are expected; without a listener they would end the process.
    request.on("error", () => {})
    response.on("error", () => {})
    response.setHeader("x-content-type-options", "nosniff")
    let late: NodeJS.Timeout | undefined
    const expect = (millis: number) => {
      clearTimeout(late)
      if (!request.complete) late = setTimeout(() => endLate(response), millis)
    }
    expect(arrivalMillis)
    for (const event of ["end", "close"]) request.once(event, () => clearTimeout(late))
    // The response emits `finish` over HTTP/2 only when the stream is closed.
    const sent = "stream" in response ? response.stream : response
    sent.once("finish", () => {
      if (request.complete) return
      // A client that is rejected early may read the response only after sending its request, which may never end.
      request.resume()
      const rest = setTimeout(() => abort(response, constants.NGHTTP2_NO_ERROR), restMillis)
      request.once("close", () => clearTimeout(rest))
    })
    try {
      if (!answersPreflight(options.corsOrigins, request, response)) handle(request, response, expect)
    } catch (cause) {
      options.report(cause)
      abort(response)
    }
  }
  const server = createHttp1(
    {
      maxHeaderSize,
      headersTimeout: arrivalMillis,
      // Above the time limit for large messages, which wait for their turn.
      requestTimeout: 60_000,
      connectionsCheckingInterval: 2_000,
      keepAliveTimeout: 65_000,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
      noDelay: true,
      IncomingMessage: MergedRequest
    },
    guarded
  )
  server.maxConnections = maxConnections
  server
    .on("clientError", refuseInvalid)
    .on("connect", (_request, socket) => refuse(socket, noTunnel))
    .on("checkExpectation", ({ socket }) => refuse(socket, noExpectation))
  const sessions = new FlagSessions()
  const undecided = new Set<Socket>()
  if (options.http2) {
    const http2 = createHttp2(
      {
        settings: { maxConcurrentStreams: options.streams + maxCalls, maxHeaderListSize: maxHeaderSize },
        maxSessionMemory: 64
      },
      guarded
    )
    const serve = (socket: Socket, isHttp2: boolean) => {
      undecided.delete(socket)
      if (socket.destroyed) return
      if (isHttp2) {
        http2.once("session", (session) => sessions.add(session, socket))
        http2.emit("connection", socket)
      } else for (const listen of http1) listen.call(server, socket)
      process.nextTick(() => socket.resume())
    }
    const http1 = server.listeners("connection")
    server.removeAllListeners("connection").on("connection", (socket: Socket) => {
      undecided.add(socket)
      peek(socket, (isHttp2) => {
        if (isHttp2 === undefined) undecided.delete(socket)
        else if (!isHttp2) serve(socket, false)
        // Its first bytes may hold as many calls as a connection can have.
        else void loopTurn(socket.remoteAddress ?? "").then(() => serve(socket, true))
      })
    })
  }
  const close = () => {
    const closed = closeGracefully(server, graceMillis, () => {
      sessions.destroy()
      server.closeAllConnections()
    })
    for (const socket of undecided) socket.destroy()
    sessions.close()
    return closed
  }
  return { server, close }
}

/** The start of the HTTP/2 connection preface (RFC 9113, section 3.4). */
const preface = Buffer.from("PRI")

/** Detects HTTP/2, puts the bytes back and pauses the socket; undefined if the client has disconnected. */
const peek = (socket: Socket, decide: (isHttp2: boolean | undefined) => void) => {
  let seen = Buffer.alloc(0)
  const late = setTimeout(() => socket.destroy(), arrivalMillis)
  const done = (answer: boolean | undefined) => {
    clearTimeout(late)
    socket.off("data", look).off("close", gone)
    decide(answer)
  }
  const gone = () => done(undefined)
  const look = (bytes: Buffer) => {
    seen = Buffer.concat([seen, bytes])
    if (seen.length < preface.length && preface.subarray(0, seen.length).equals(seen)) return
    socket.pause()
    socket.unshift(seen)
    done(seen.subarray(0, preface.length).equals(preface))
  }
  socket
    .on("data", look)
    .on("close", gone)
    .on("error", () => {})
}
