import { type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type Socket } from "node:net"

/** Requests that may wait on one connection. */
const mostWaiting = 256

/**
 * Makes the requests of one connection run one after the other, in the order of HTTP/1.1 pipelining (RFC 9112 9.3.2): a
 * request sees what the one before it has done, and a connection costs no more than one request at a time. Node would
 * start all of them at once. A connection on which more than 256 requests wait is closed, as the RFC permits.
 */
export const withRequestsInOrder = (server: Server): Server => {
  const waiting = new WeakMap<Socket, number>()
  const emit = server.emit.bind(server) as (event: string | symbol, ...args: ReadonlyArray<unknown>) => boolean

  const hold = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const before = waiting.get(socket) ?? 0
    if (before >= mostWaiting) {
      socket.destroy()
      return
    }
    waiting.set(socket, before + 1)
    const assignSocket = response.assignSocket.bind(response)
    // Node calls it when the response before this one has been sent.
    response.assignSocket = (own) => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
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
