import { type EventEmitter } from "node:events"
import { Connection, type ConnectionConfig } from "pg"
import { type Login } from "../Login.ts"

interface Wire extends EventEmitter {
  readonly stream: { destroy(): void }
  readonly connect: (portOrPath: number | string, host?: string) => void
  readonly requestSsl: () => void
  readonly cancel: (processId: number, secretKey: number) => void
}

const timeoutMillis = 2_000
const attempts = 10
/** ms between two requests to cancel the same statement. */
const interval = 100

/** Asks PostgreSQL to cancel a session's statement. Calls back when the request was received, or after a timeout. */
export const cancelRequest = (
  { at: { host, port, ssl } }: Login,
  processId: number,
  secretKey: number,
  done: () => void
) => {
  const wire = new Connection({ ssl } as ConnectionConfig) as unknown as Wire
  const timer = setTimeout(() => wire.stream.destroy(), timeoutMillis)
  const send = () => wire.cancel(processId, secretKey)
  wire.once("connect", () => (ssl === false ? send() : wire.requestSsl()))
  wire.once("sslconnect", send)
  wire.on("error", () => wire.stream.destroy())
  wire.once("end", () => {
    clearTimeout(timer)
    done()
  })
  if (host.startsWith("/")) wire.connect(`${host}/.s.PGSQL.${port}`)
  else wire.connect(port, host)
}

/**
 * Asks PostgreSQL to cancel a session's statement, and calls back when it has ended, or still runs after some requests. As
 * PostgreSQL ignores a request that arrives before the statement does, another one follows while it runs.
 */
export const cancelWhileRunning = (
  login: Login,
  processId: number,
  secretKey: number,
  runs: () => boolean,
  done: () => void,
  left = attempts
): void =>
  cancelRequest(login, processId, secretKey, () => {
    const again = () => (runs() ? cancelWhileRunning(login, processId, secretKey, runs, done, left - 1) : done())
    if (runs() && left > 1) setTimeout(again, interval)
    else done()
  })
