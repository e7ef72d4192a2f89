import { type Server } from "node:http"
import { type Socket } from "node:net"

/** Members of Node's classes that its types do not list. */
interface ServerInternals {
  readonly _handle: { readonly listen: (backlog: number) => number } | null
}
interface SocketInternals {
  /** The response in progress. */
  readonly _httpMessage?: unknown
}

const sweepMillis = 20
/** A kept connection on which nothing has arrived for this long is idle, in ms. */
const idleMillis = 1_000
/** How long clients are kept out before the port closes, in ms: until their systems wait before they try again. */
const blockMillis = 20

/** What has arrived on a connection, and since when nothing more, in ms. */
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
 * - A kept connection closes with the response to its request in progress, if that says `Connection: close`, and
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

/** Calls back when no connection waits to be accepted. */
const whenNoneWaits = (server: Server, done: () => void) => {
  // From here on Linux lets in one client at a time; the systems of others try again after a second.
  if (process.platform === "linux") (server as unknown as ServerInternals)._handle?.listen(0)
  let accepted = false
  let blocked = false
  const onConnection = () => {
    accepted = true
    if (blocked) over()
  }
  const over = () => {
    server.off("connection", onConnection)
    clearImmediate(turn)
    done()
  }
  // Node accepts one connection in each turn of its event loop, so none waited in a turn without one.
  const check = () => {
    if (!accepted && blocked) return over()
    if (!accepted) {
      // One client connects meanwhile, and is accepted next; no other does so for a second.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMillis)
      blocked = true
    }
    accepted = false
    turn = setImmediate(check)
  }
  server.on("connection", onConnection)
  accepted = true
  let turn = setImmediate(check)
}
