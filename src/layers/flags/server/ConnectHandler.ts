import { Code, ConnectError, type ConnectRouter, createConnectRouter, type Interceptor } from "@connectrpc/connect"
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse
} from "@connectrpc/connect-node"
import { type FlagCors } from "./Cors.ts"
import { hangUp, type NodeRequest, type NodeResponse } from "./Port.ts"

/** The longest message a client may send, in bytes, as flagd has it. */
const messageLimit = 1_000_000
/** Messages within messages: far above what a context may nest, far below what the stack holds. */
const recursionLimit = 1_000
/** A client that reads nothing of a message for so long is hung up on, in ms. */
const stallMillis = 60_000

type Handler = ReturnType<typeof createConnectRouter>["handlers"][number]

/**
 * Serves services over gRPC, gRPC-Web and Connect, on HTTP/1.1 and HTTP/2. `report` is told what is our own fault; the
 * caller gets INTERNAL then.
 *
 * In place of connect-node's own adapter, which reports to the console, can't do without a valid Host header, and
 * waits without end for clients that don't read.
 */
export const connectHandler = (
  routes: (router: ConnectRouter) => void,
  cors: FlagCors,
  report: (cause: unknown) => void
) => {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip],
    readMaxBytes: messageLimit,
    // Clients in other languages need the zero values, as flagd sends them.
    jsonOptions: { alwaysEmitImplicit: true, recursionLimit },
    binaryOptions: { recursionLimit },
    interceptors: [reporting(report)]
  })
  routes(router)
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))

  return (request: NodeRequest, response: NodeResponse) => {
    if (cors(request, response)) return
    const path = (request.url ?? "").split("?", 1)[0] ?? ""
    const handler = handlers.get(path)
    if (handler === undefined) return unknown(request, response, path)
    if (request.method !== "POST") {
      response.setHeader("allow", "POST")
      return refuse(response, 405, "unimplemented", "Calls are made with POST")
    }
    // Whatever fails now does so because the client has left, or can't be talked to.
    answer(handler, request, response).catch(() => hangUp(response))
  }
}

const answer = async (handler: Handler, request: NodeRequest, response: NodeResponse) => {
  const given = universalRequestOf(request, response)
  if (given === undefined) return refuse(response, 400, "invalid_argument", "The Host header is not valid")
  const reply = await handler(given)
  const { body } = reply
  return await universalResponseToNodeResponse(
    body === undefined ? reply : { ...reply, body: patient(body, response) },
    response
  )
}

const universalRequestOf = (request: NodeRequest, response: NodeResponse) => {
  try {
    const made = universalRequestFromNodeRequest(request, response, undefined, undefined)
    // What is refused before it is read to its end still gets its answer.
    return { ...made, body: request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Uint8Array> }
  } catch {
    return undefined
  }
}

/** Each part is asked for once the one before has gone out. */
async function* patient(body: AsyncIterable<Uint8Array>, response: NodeResponse) {
  for await (const part of body) {
    const stalled = setTimeout(() => hangUp(response), stallMillis)
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

/** UNIMPLEMENTED, in the words of who asks. */
const unknown = (request: NodeRequest, response: NodeResponse, path: string) => {
  const type = request.headers["content-type"] ?? ""
  if (!type.startsWith("application/grpc")) return refuse(response, 404, "unimplemented", `There is no call ${path}`)
  response.setHeader("content-type", type)
  response.setHeader("grpc-status", String(Code.Unimplemented))
  response.setHeader("grpc-message", "There is no such call")
  response.end()
}

const refuse = (response: NodeResponse, status: number, code: string, message: string) => {
  response.statusCode = status
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ code, message: message.slice(0, 300) }))
}
