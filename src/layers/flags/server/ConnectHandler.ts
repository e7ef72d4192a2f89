import {
  Code,
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createContextValues,
  type Interceptor
} from "@connectrpc/connect"
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse
} from "@connectrpc/connect-node"
import { TooManyRequests } from "../../../domain/errors.ts"
import { CallMessage, type EnterTurn } from "./LargeMessages.ts"
import { peerKey, peerOf } from "./Peer.ts"
import { abort, type NodeRequest, type NodeResponse } from "./Port.ts"

/** Maximum size of a message from a client in bytes, as in flagd. */
const messageLimit = 1_000_000
/** Maximum depth of nested messages: far above the limit of a context, far below that of the stack. */
const recursionLimit = 1_000
/** Time after which a client that does not read is disconnected, in ms. */
const stallMillis = 60_000

type Handler = ReturnType<typeof createConnectRouter>["handlers"][number]

/**
 * Serves services over gRPC, gRPC-Web and Connect, on HTTP/1.1 and HTTP/2. `report` receives internal errors; the client
 * gets INTERNAL for them.
 *
 * Replaces connect-node's own adapter, which logs to the console, throws on an invalid Host header, and waits forever for
 * clients that don't read.
 */
export const connectHandler = (
  routes: (router: ConnectRouter) => void,
  enter: EnterTurn,
  report: (cause: unknown) => void
) => {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip],
    readMaxBytes: messageLimit,
    // Clients in other languages need the zero values, which flagd sends too.
    jsonOptions: { alwaysEmitImplicit: true, recursionLimit },
    binaryOptions: { recursionLimit },
    interceptors: [reporting(report)]
  })
  routes(router)
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))

  return (request: NodeRequest, response: NodeResponse, expect: (millis: number) => void) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? ""
    const handler = handlers.get(path)
    if (handler === undefined) return unimplemented(request, response, path)
    if (request.method !== "POST") {
      response.setHeader("allow", "POST")
      return refuse(response, 405, "unimplemented", `${request.method ?? ""} is not allowed; use POST`)
    }
    // A failure here means that the client has disconnected or does not speak the protocol.
    const message = new CallMessage(request, response, expect, enter)
    answer(handler, request, response, message)
      .catch(() => abort(response))
      .finally(() => message.done())
  }
}

const answer = async (handler: Handler, request: NodeRequest, response: NodeResponse, message: CallMessage) => {
  const universal = universalRequestOf(request, response, message)
  if (universal === undefined) return refuse(response, 400, "invalid_argument", "The Host header is invalid")
  const reply = await handler(universal)
  const { body } = reply
  return await universalResponseToNodeResponse(
    body === undefined ? reply : { ...reply, body: withStallLimit(body, response, message) },
    response
  )
}

const universalRequestOf = (request: NodeRequest, response: NodeResponse, message: CallMessage) => {
  try {
    const values = createContextValues().set(peerKey, peerOf(request))
    return { ...universalRequestFromNodeRequest(request, response, undefined, values), body: partsOf(message) }
  } catch {
    return undefined
  }
}

async function* partsOf(message: CallMessage) {
  try {
    yield* message.parts()
  } catch (cause) {
    throw cause instanceof TooManyRequests ? new ConnectError(cause.error, Code.ResourceExhausted) : cause
  }
}

/** Aborts when a part is not sent within the time limit. The next part is requested once the previous one is sent. */
async function* withStallLimit(body: AsyncIterable<Uint8Array>, response: NodeResponse, message: CallMessage) {
  for await (const part of body) {
    message.done()
    const stalled = setTimeout(() => abort(response), stallMillis)
    yield part
    clearTimeout(stalled)
  }
}

const reporting =
  (report: (cause: unknown) => void): Interceptor =>
  (next) =>
  async (request) => {
    const failed = (cause: unknown) => {
      if (!(cause instanceof ConnectError) && !request.signal.aborted) report(cause)
      return cause
    }
    try {
      const response = await next(request)
      return response.stream ? { ...response, message: watched(response.message, failed) } : response
    } catch (cause) {
      throw failed(cause)
    }
  }

async function* watched<A>(messages: AsyncIterable<A>, failed: (cause: unknown) => unknown) {
  try {
    yield* messages
  } catch (cause) {
    throw failed(cause)
  }
}

/** UNIMPLEMENTED, in the protocol of the client. */
const unimplemented = (request: NodeRequest, response: NodeResponse, path: string) => {
  const type = request.headers["content-type"] ?? ""
  if (!type.startsWith("application/grpc")) return refuse(response, 404, "unimplemented", `No such method: ${path}`)
  response.setHeader("content-type", type)
  response.setHeader("grpc-status", String(Code.Unimplemented))
  response.setHeader("grpc-message", "No such method")
  response.end()
}

const refuse = (response: NodeResponse, status: number, code: string, message: string) => {
  response.statusCode = status
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ code, message: message.slice(0, 300) }))
}
