import { Effect } from "effect"
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from "node:http"
import { constants, createServer as createHttp2, type Http2ServerRequest, type Http2ServerResponse } from "node:http2"
import { type Socket } from "node:net"
import { closeGracefully, listen, type ListenAddress } from "../../net/Server.ts"
import { FlagSessions } from "./Sessions.ts"

export type NodeRequest = IncomingMessage | Http2ServerRequest
export type NodeResponse = ServerResponse | Http2ServerResponse
type Handle = (request: NodeRequest, response: NodeResponse) => void

/** How long a request may take to arrive, in ms. */
const arrivalMillis = 10_000
/** How long a request that is answered already may go on, in ms. */
const restMillis = 1_000
/** How long requests under way may take when the port closes, in ms. */
const graceMillis = 5_000
/** Connections of one port. */
const maxConnections = 10_000
const maxHeaderSize = 64 * 1024

export interface FlagPortOptions extends ListenAddress {
  /** HTTP/2 without TLS too, on the same port. */
  readonly http2: boolean
  /** Told of mistakes of ours, which must not end the process. */
  readonly report: (cause: unknown) => void
}

export interface FlagPort {
  readonly port: number
  /** Takes nothing new, and waits a while for what is under way. */
  readonly close: Effect.Effect<void>
}

/** Serves until the scope closes, or before that until it is told to close. A StartError when it can't listen. */
export const serveFlagPort = Effect.fnUntraced(function* (options: FlagPortOptions, handle: Handle) {
  const { server, ...made } = makeServer(options, handle)
  let closed: Promise<void> | undefined
  const close = Effect.promise(() => (closed ??= made.close()))
  const port = yield* Effect.acquireRelease(listen(server, options), () => close)
  return { port, close } satisfies FlagPort
})

/** Ends what the peer waits for, without an answer. */
export const hangUp = (response: NodeResponse, code: number = constants.NGHTTP2_CANCEL) => {
  if ("stream" in response) response.stream?.close(code)
  else response.destroy()
}

const makeServer = (options: FlagPortOptions, handle: Handle) => {
  const guarded: Handle = (request, response) => {
    // Peers that leave are no news; without a listener they would end the process.
    request.on("error", () => {})
    response.on("error", () => {})
    const late = setTimeout(() => hangUp(response), arrivalMillis)
    for (const event of ["end", "close"]) request.once(event, () => clearTimeout(late))
    // Over HTTP/2 the response itself says so only when the stream is closed, which is what is waited for here.
    const sent = "stream" in response ? response.stream : response
    sent.once("finish", () => {
      if (request.complete) return
      // Who is refused early may still be sending, and listen only after that; or never end what it sends.
      request.resume()
      const rest = setTimeout(() => hangUp(response, constants.NGHTTP2_NO_ERROR), restMillis)
      request.once("close", () => clearTimeout(rest))
    })
    try {
      handle(request, response)
    } catch (cause) {
      options.report(cause)
      hangUp(response)
    }
  }
  const server = createHttp1(
    {
      maxHeaderSize,
      headersTimeout: arrivalMillis,
      requestTimeout: arrivalMillis,
      connectionsCheckingInterval: 2_000,
      keepAliveTimeout: 65_000,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
      noDelay: true
    },
    guarded
  )
  server.maxConnections = maxConnections
  const sessions = new FlagSessions()
  const undecided = new Set<Socket>()
  if (options.http2) {
    const http2 = createHttp2(
      { settings: { maxConcurrentStreams: 1_000, maxHeaderListSize: maxHeaderSize }, maxSessionMemory: 64 },
      guarded
    )
    const http1 = server.listeners("connection")
    server.removeAllListeners("connection").on("connection", (socket: Socket) => {
      undecided.add(socket)
      peek(socket, (preface) => {
        undecided.delete(socket)
        if (preface === undefined) return
        if (preface) {
          http2.once("session", (session) => sessions.add(session, socket))
          http2.emit("connection", socket)
        } else for (const listen of http1) listen.call(server, socket)
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

/** The first bytes of a client that knows the server speaks HTTP/2 (RFC 9113 3.4). */
const preface = Buffer.from("PRI")

/** Tells whether HTTP/2 begins, and leaves all bytes to be read again; undefined when nobody is there any more. */
const peek = (socket: Socket, tell: (preface: boolean | undefined) => void) => {
  let seen = Buffer.alloc(0)
  const late = setTimeout(() => socket.destroy(), arrivalMillis)
  const done = (answer: boolean | undefined) => {
    clearTimeout(late)
    socket.off("data", look).off("close", gone).off("error", ignore)
    tell(answer)
  }
  const gone = () => done(undefined)
  const ignore = () => {}
  const look = (bytes: Buffer) => {
    seen = Buffer.concat([seen, bytes])
    if (seen.length < preface.length && preface.subarray(0, seen.length).equals(seen)) return
    socket.pause()
    socket.unshift(seen)
    done(seen.subarray(0, preface.length).equals(preface))
    process.nextTick(() => socket.resume())
  }
  socket.on("data", look).on("close", gone).on("error", ignore)
}
