import { type IncomingMessage, type Server, type ServerResponse } from "node:http"

/** ms of one turn of the event loop in which requests are started. */
const turnMillis = 10

/**
 * Starts requests for 10 ms in each turn of the event loop; what arrives beyond them waits for the next one, in order. Node
 * would start all that have arrived: those of a thousand new connections take a third of a second, in which no probe, no
 * timer and no answer of the database is seen.
 */
export const withShortTurns = (server: Server): Server => {
  const emit = server.emit.bind(server) as (event: string | symbol, ...args: ReadonlyArray<unknown>) => boolean
  const waiting: Array<readonly [IncomingMessage, ServerResponse]> = []
  let spent = 0
  let scheduled = false

  const start = (request: IncomingMessage, response: ServerResponse) => {
    // The client has disconnected meanwhile.
    if (response.destroyed) return
    const from = performance.now()
    emit("request", request, response)
    spent += performance.now() - from
  }
  const schedule = () => {
    if (scheduled) return
    scheduled = true
    setImmediate(turn)
  }
  const turn = () => {
    scheduled = false
    spent = 0
    for (let next = waiting.shift(); next !== undefined; next = spent < turnMillis ? waiting.shift() : undefined) {
      start(...next)
    }
    if (spent > 0 || waiting.length > 0) schedule()
  }

  server.emit = (event: string | symbol, ...args: ReadonlyArray<unknown>) => {
    if (event !== "request") return emit(event, ...args)
    const [request, response] = args as [IncomingMessage, ServerResponse]
    if (waiting.length > 0 || spent >= turnMillis) waiting.push([request, response])
    else start(request, response)
    schedule()
    return true
  }
  return server
}
