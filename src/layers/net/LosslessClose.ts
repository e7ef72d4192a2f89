import { type Server } from "node:http"
import { type Socket } from "node:net"

/** Members of Node's classes that its types do not list. */
interface ServerInternals extends Server {
  /** An option of the constructor: connections are not read until they are resumed. */
  pauseOnConnect?: boolean
}
interface SocketInternals {
  /** The response in progress. */
  readonly _httpMessage?: unknown
}

const sweepMillis = 20
/** A kept connection on which nothing has arrived for this long is idle, in ms. */
const idleMillis = 1_000
/** No client must have connected for the first number of ms when the port closes; but it closes after the second number. */
const [quietMillis, maxBusyMillis] = [100, 2_000]
const checkMillis = 5

/** The bytes that have arrived on a connection, and the time of the last ones, in ms. */
interface Arrivals {
  readonly bytes: number
  readonly since: number
}

const inProgress = (socket: Socket) => (socket as SocketInternals)._httpMessage != null || socket.writableLength > 0

/**
 * Makes `close` wait for requests that have reached this machine, but not this process:
 *
 * - The kernel completes connections before the process accepts them, and closing the port resets those in between. So
 *   the port closes when there are none.
 * - A kept connection closes with the response to its request in progress, if that has `Connection: close`, and
 *   otherwise when nothing has arrived on it for a second.
 *
 * Not if `prompt`: the port and the connections without a request close at once.
 */
export const withLosslessClose = (server: Server, prompt: boolean): Server => {
  const sockets = new Map<Socket, Arrivals>()
  server.on("connection", (socket: Socket) => {
    sockets.set(socket, { bytes: 0, since: performance.now() })
    socket.once("close", () => sockets.delete(socket))
  })
  // Its WebSocket ends it.
  server.on("upgrade", (_request, socket: Socket) => sockets.delete(socket))

  // Node's own also closes connections whose response is not sent yet. It is called when the port closes, too.
  server.closeIdleConnections = () => {
    const now = performance.now()
    for (const [socket, { bytes, since }] of sockets) {
      if (inProgress(socket) || (socket.bytesRead !== bytes && !prompt))
        sockets.set(socket, { bytes: socket.bytesRead, since: now })
      else if (prompt || now - since >= idleMillis) socket.destroy()
    }
  }

  const close = server.close.bind(server)
  server.close = (closed) => {
    const closePort = () => {
      // An immediate runs right after sockets were read, so what has arrived is known.
      const sweep = setInterval(() => setImmediate(() => server.closeIdleConnections()), sweepMillis)
      close((error) => {
        clearInterval(sweep)
        closed?.(error)
      })
    }
    if (prompt) closePort()
    else whenNoneWaits(server, closePort)
    return server
  }
  return server
}

/**
 * Calls back when no connection waits to be accepted: when none has come for a while. Those that come meanwhile are read
 * afterwards, so that clients that connect for each request have nothing to connect for.
 */
const whenNoneWaits = (server: Server, done: () => void) => {
  const from = performance.now()
  let connectedAt = from
  const held: Array<Socket> = []
  const hold = (socket: Socket) => {
    connectedAt = performance.now()
    held.push(socket)
  }
  const pausing = server as ServerInternals
  pausing.pauseOnConnect = true
  server.on("connection", hold)
  // An immediate runs right after connections were accepted.
  const timer = setInterval(() => setImmediate(check), checkMillis)
  const check = () => {
    const now = performance.now()
    if (now - connectedAt < quietMillis && now - from < maxBusyMillis) return
    clearInterval(timer)
    server.off("connection", hold)
    pausing.pauseOnConnect = false
    done()
    for (const socket of held) socket.resume()
  }
}
