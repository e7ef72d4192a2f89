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
import { contextBytes } from "../../../domain/flags/Evaluation.ts"
import { loopTurn } from "../../../services/LoopTurn.ts"
import { CallMessage, type EnterTurn, tooManyValues } from "./LargeMessages.ts"
import { type FlagFeed } from "./Feed.ts"
import { Crowd, peerKey, peerOf } from "./Peer.ts"
import { abort, peerAddress, type NodeRequest, type NodeResponse } from "./Port.ts"

/** Bytes that end too early are the client's fault, but connect-node counts only other invalid ones as such. */
const gzip: typeof compressionGzip = {
  ...compressionGzip,
  decompress: (bytes, readMaxBytes) =>
    compressionGzip.decompress(bytes, readMaxBytes).catch((cause: unknown) => {
      const { code, message } = ConnectError.from(cause)
      throw code === Code.Internal ? new ConnectError(message, Code.InvalidArgument) : cause
    })
}

/** Maximum depth of nested messages: far above the limit of a context, far below that of the stack. */
const recursionLimit = 1_000
/** Time after which a client that does not read is disconnected, in ms. */
const stallMillis = 60_000

/** The name that flagd.evaluation.v1.Service had before, by which older clients call it. Only `metadata` is new to them. */
const formerName = /^\/schema\.v1\.Service\//

type Handler = ReturnType<typeof createConnectRouter>["handlers"][number]

interface ConnectOptions {
  readonly enter: EnterTurn
  /** Bounds the streams. */
  readonly feed: FlagFeed
  readonly report: (cause: unknown) => void
}

/**
 * Serves services over gRPC, gRPC-Web and Connect, on HTTP/1.1 and HTTP/2. `report` receives internal errors; the client
 * gets INTERNAL for them.
 *
 * Replaces connect-node's own adapter, which logs to the console, throws on an invalid Host header, and waits forever for
 * clients that don't read.
 */
export const connectHandler = (routes: (router: ConnectRouter) => void, { enter, feed, report }: ConnectOptions) => {
  const router = createConnectRouter({
    acceptCompression: [gzip],
    readMaxBytes: contextBytes,
    // Clients in other languages need the zero values, which flagd sends too.
    jsonOptions: { alwaysEmitImplicit: true, recursionLimit },
    binaryOptions: { recursionLimit },
    interceptors: [reporting(report)]
  })
  routes(router)
  const crowd = new Crowd()
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))

  return (request: NodeRequest, response: NodeResponse, expect: (millis: number) => void) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? ""
    const handler = handlers.get(path.replace(formerName, "/flagd.evaluation.v1.Service/"))
    if (handler === undefined) return unimplemented(request, response, path)
    if (request.method !== "POST") {
      response.setHeader("allow", "POST")
      return refuse(response, 405, "unimplemented", `${request.method ?? ""} is not allowed; use POST`)
    }
    const excess = handler.method.methodKind === "server_streaming" ? feed.excessOf(peerOf(request)) : undefined
    if (excess !== undefined && isGrpc(request)) {
      loopTurn(peerAddress(request)).then(
        () => isGone(response) || endGrpc(request, response, Code.ResourceExhausted, excess)
      )
      return
    }
    // A failure here means that the client has disconnected or violates the protocol.
    const message = new CallMessage(request, response, expect, enter)
    crowd
      .turn(peerAddress(request))
      .then(() => (isGone(response) ? undefined : answer(handler, request, response, message)))
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
    if (cause instanceof TooManyRequests) throw new ConnectError(cause.error, Code.ResourceExhausted)
    throw cause === tooManyValues ? new ConnectError(tooManyValues.error, Code.InvalidArgument) : cause
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
  if (!isGrpc(request)) return refuse(response, 404, "unimplemented", `No such method: ${path}`)
  endGrpc(request, response, Code.Unimplemented, "No such method")
}

const isGrpc = ({ headers }: NodeRequest) => (headers["content-type"] ?? "").startsWith("application/grpc")

/** A response without a message, whose status stands in its headers. For gRPC-Web too. */
const endGrpc = (request: NodeRequest, response: NodeResponse, code: Code, message: string) => {
  response.setHeader("content-type", request.headers["content-type"] ?? "")
  response.setHeader("grpc-status", String(code))
  response.setHeader("grpc-message", message)
  response.end()
}

const isGone = (response: NodeResponse) =>
  "stream" in response ? (response.stream?.destroyed ?? true) : response.destroyed

const refuse = (response: NodeResponse, status: number, code: string, message: string) => {
  response.statusCode = status
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ code, message: message.slice(0, 300) }))
}
