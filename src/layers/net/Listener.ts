import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type Socket } from "node:net"
import { type Duplex } from "node:stream"
import { UnreadResponses, batchedResponses } from "./BatchedResponse.ts"
import { withLosslessClose } from "./LosslessClose.ts"
import { isTimeout, noExpectation, noTunnel, refuse, refuseInvalid } from "./Refusal.ts"
import { listenError } from "./Server.ts"
import { MergedRequest } from "./MergedRequest.ts"
import { withRequestsInOrder } from "./Pipelining.ts"
import { withShortTurns } from "./ShortTurns.ts"
import { webSocketOptions } from "./WebSockets.ts"
import { sharesPort, workerNumber } from "../process/WorkerSettings.ts"
import { duration, flag, integer, text, url } from "../../domain/Settings.ts"
import { AnswerBudget } from "../../services/access/AnswerBudget.ts"
import { IncomingRequest } from "../../services/access/IncomingRequest.ts"
import { Shutdown, shutdownDelay } from "../../services/Shutdown.ts"

/** Address of the API. */
export const httpAddress = Effect.all({ port: integer("PORT", 3000, 0, 65_535), host: text("HOST", "127.0.0.1") })

/** Time after which a client that reads nothing of a response is disconnected, in ms. */
const stallMillis = duration("SVC_RESPONSE_STALL_TIMEOUT", 30_000)

/** The address as an error names it. */
export const apiAt = (host: string, port: number) => ({ name: "The API", host, port, setting: "PORT" })

/** Every response of `/v1` has these headers. Invalid requests may be for `/v1`. */
const unlimited = { "X-RateLimit-Limit": "-1", "X-RateLimit-Remaining": "-1" }

/** Validates the settings of the listener before anything starts. */
export const layerHttpSettings = Layer.effectDiscard(
  Effect.all([httpAddress, stallMillis, url("DASHBOARD_URL"), flag("SVC_COMPRESSION", true), shutdownDelay])
)

/** The HTTP server of the API, with the limits that Node enforces before a request reaches the routes. */
export const layerHttpListener = Layer.unwrap(
  Effect.gen(function* () {
    const { host, port } = yield* httpAddress
    const shutdown = yield* Shutdown
    const unread = new UnreadResponses(yield* stallMillis, yield* AnswerBudget)
    return NodeHttpServer.layer(() => makeServer(shutdown, unread), {
      port,
      host,
      // A burst of new connections fits; further ones would be retried after a second.
      backlog: 4096,
      reusePort: workerNumber !== undefined && sharesPort,
      gracefulShutdownTimeout: "10 seconds",
      websocket: webSocketOptions
    }).pipe(
      // The error of the tap replaces the original one.
      Layer.tapError(({ cause }) => listenError(apiAt(host, port), cause))
    )
  })
)

const makeServer = ({ begun, delay }: Shutdown["Service"], unread: UnreadResponses): Server => {
  const BatchedResponse = batchedResponses(unread)
  const server = withLosslessClose(
    createServer({
      IncomingMessage: MergedRequest,
      ServerResponse: class<Request extends IncomingMessage> extends BatchedResponse<Request> {
        override writeHead(...head: ReadonlyArray<never>): this {
          // Node sends `Connection: close` then.
          if (begun()) this.shouldKeepAlive = false
          return super.writeHead(...head)
        }
      },
      // Above the URL limit of 16 KiB, so that Front answers requests with a longer URL.
      maxHeaderSize: 64 * 1024,
      // Front checks it and responds with the common error body.
      requireHostHeader: false,
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      connectionsCheckingInterval: 2_000,
      keepAliveTimeout: 65_000
    })
      .on("clientError", (error: Error & { readonly code?: string }, socket: Socket) => {
        if (!isTimeout(error) || !isUnhurried(socket)) refuseInvalid(error, socket, unlimited)
      })
      .on("connect", (_request, socket: Duplex) => refuse(socket, noTunnel, unlimited))
      .on("checkExpectation", ({ socket }) => refuse(socket, noExpectation, unlimited)),
    delay === 0
  )
  unread.watch(server)
  return withRequestsInOrder(withShortTurns(server))
}

/** The member of a server's socket that Node's types do not list: the response to the request that it serves. */
interface SocketInternals {
  readonly _httpMessage?: ServerResponse | null
}

/** Whether the request of a connection may take longer. Node reports a timeout once for each, so it is not ended later. */
const isUnhurried = (socket: Socket) => {
  const request = (socket as SocketInternals)._httpMessage?.req
  return request instanceof IncomingRequest && request.unhurried
}
