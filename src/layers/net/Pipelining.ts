import { type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type Socket } from "node:net"

/** A connection is not read while so many of its requests wait. */
const mostWaiting = 16

/** Members of a server's socket that Node's types do not list; Node sets them when a response is not read. */
interface SocketInternals extends Socket {
  /** Keeps bodies from resuming the socket. */
  _paused?: boolean
  readonly parser?: { readonly resume: () => void } | null
}

/**
 * Makes the requests of one connection run one after the other, in the order of HTTP/1.1 pipelining (RFC 9112 9.3.2): a
 * request sees the effects of the one before it, and a connection costs no more than one request at a time. Node would
 * start all of them at once.
 */
export const withRequestsInOrder = (server: Server): Server => {
  const waiting = new WeakMap<Socket, number>()
  const emit = server.emit.bind(server) as (event: string | symbol, ...args: ReadonlyArray<unknown>) => boolean

  const hold = (request: IncomingMessage, response: ServerResponse) => {
    const socket: SocketInternals = request.socket
    const before = waiting.get(socket) ?? 0
    waiting.set(socket, before + 1)
    if (before + 1 === mostWaiting) {
      socket._paused = true
      socket.pause()
    }
    const assignSocket = response.assignSocket.bind(response)
    // Node calls it when the response before this one has been sent.
    response.assignSocket = (own) => {
      const left = (waiting.get(socket) ?? 1) - 1
      waiting.set(socket, left)
      // The last one may have a body that has not arrived.
      if (left === 0 && socket._paused === true) {
        socket._paused = false
        socket.parser?.resume()
        socket.resume()
      }
      assignSocket(own)
      emit("request", request, response)
    }
  }

  server.emit = (event: string | symbol, ...args: ReadonlyArray<unknown>) => {
    const [request, response] = args as [IncomingMessage, ServerResponse]
    if (event !== "request" || response.socket !== null) return emit(event, ...args)
    hold(request, response)
    return true
  }
  return server
}
