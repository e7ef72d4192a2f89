import { Effect } from "effect"
import { type Server } from "node:http"
import { type AddressInfo } from "node:net"
import { type StartError, startError } from "../process/StartError.ts"

export interface ListenAddress {
  /** The server's name in errors. */
  readonly name: string
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** The variable that sets the port. */
  readonly setting: string
}

export const listenError = ({ host, name, port, setting }: ListenAddress, cause: unknown): StartError =>
  startError(`${name} can't listen on ${host}:${port} (HOST, ${setting})`, cause)

/** Yields the port that the server listens on. */
export const listen = (server: Server, address: ListenAddress): Effect.Effect<number, StartError> =>
  Effect.callback((resume) => {
    server.once("error", (cause) => resume(Effect.fail(listenError(address, cause))))
    server.listen(address.port, address.host, () => resume(Effect.succeed((server.address() as AddressInfo).port)))
  })

/** Makes `close` end every connection once it is idle; Node ends only those that are idle when `close` is called. */
const endIdleOnClose = (server: Server): Server => {
  const close = server.close.bind(server)
  server.close = (closed) => {
    const sweep = setInterval(() => server.closeIdleConnections(), 20)
    return close((error) => {
      clearInterval(sweep)
      closed?.(error)
    })
  }
  return server
}

/** Stops accepting connections; requests in progress may finish for `graceMillis`, then `terminate` ends them. */
export const closeGracefully = (
  server: Server,
  graceMillis: number,
  terminate = () => server.closeAllConnections()
): Promise<void> =>
  new Promise((closed) => {
    const timer = setTimeout(terminate, graceMillis)
    endIdleOnClose(server).close(() => {
      clearTimeout(timer)
      closed()
    })
  })
