import { type IncomingMessage, type Server, type ServerResponse } from "node:http"

/** ms of one turn of the event loop after which no more requests are started, and how many are started between two looks. */
const [turnMillis, together] = [3, 8]

/**
 * Starts requests for 3 ms in each turn of the event loop; what arrives beyond them waits for the next one, in order. Node
 * would start all that have arrived: those of a thousand new connections take a third of a second, in which no probe, no
 * timer and no answer of the database is seen.
 */
export const withShortTurns = (server: Server): Server => {
  const emit = server.emit.bind(server) as (event: string | symbol, ...args: ReadonlyArray<unknown>) => boolean
  const waiting: Array<readonly [IncomingMessage, ServerResponse]> = []
  /** The state of the current turn. */
  let [started, began, full, scheduled] = [0, 0, false, false]

  const start = (request: IncomingMessage, response: ServerResponse) => {
    // The client has disconnected meanwhile.
    if (response.destroyed) return
    if (started++ === 0) began = performance.now()
    emit("request", request, response)
    if (started % together === 0) full = performance.now() - began >= turnMillis
  }
  const schedule = () => {
    if (scheduled) return
    scheduled = true
    setImmediate(turn)
  }
  const turn = () => {
    ;[started, full, scheduled] = [0, false, false]
    if (waiting.length === 0) return
    for (let next = waiting.shift(); next !== undefined; next = full ? undefined : waiting.shift()) start(...next)
    schedule()
  }

  server.emit = (event: string | symbol, ...args: ReadonlyArray<unknown>) => {
    if (event !== "request") return emit(event, ...args)
    const [request, response] = args as [IncomingMessage, ServerResponse]
    if (full || waiting.length > 0) waiting.push([request, response])
    else start(request, response)
    schedule()
    return true
  }
  return server
}
