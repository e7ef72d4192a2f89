import { isIP, Socket } from "node:net"
import { type ConnectionOptions } from "node:tls"
import { parentPort, workerData } from "node:worker_threads"
import { Client, DatabaseError } from "pg"
import { isPublicAddress } from "../../domain/PublicAddress.ts"

// The thread of ConnectionProbePostgres.ts: signs in at one PostgreSQL, once. A thread, because the driver's parser
// trusts the server: at what is no PostgreSQL it may throw where nobody can catch it, or never come back.

export interface SignInTask {
  /** As the connection string has it, for certificates. */
  readonly host: string
  /** An IP address, or a directory of Unix sockets. */
  readonly address: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  readonly options: string | undefined
  /** `any`: encrypted, the certificate not looked at. `ca`: looked at, but not whose it is. */
  readonly tls: "none" | "any" | "ca" | "full"
  readonly allowPrivate: boolean
}

export type SignInReply =
  /** `millis`: how long that took. */
  | { readonly _tag: "SignedIn"; readonly version: string | null; readonly millis: number }
  | { readonly _tag: "Refused" }
  /** `server`: PostgreSQL said so, else somebody on the way. */
  | { readonly _tag: "Failed"; readonly message: string; readonly code: string | undefined; readonly server: boolean }

/** What of the driver's inside is used here and not in its types. */
interface Wire {
  readonly on: (
    event: "parameterStatus",
    listener: (message: { readonly parameterName: string; readonly parameterValue: string }) => void
  ) => void
}

/** More than this, in bytes, no server says to a sign-in and `select 1`. */
const mostBytes = 1024 * 1024

const tlsOf: Readonly<Record<SignInTask["tls"], false | ConnectionOptions>> = {
  none: false,
  any: { rejectUnauthorized: false },
  ca: { checkServerIdentity: () => undefined },
  full: {}
}

const signIn = (task: SignInTask, answer: (reply: SignInReply) => void) => {
  const from = performance.now()
  const socket = new Socket()
  socket.prependOnceListener("connect", () => {
    if (task.allowPrivate || isPublicAddress(socket.remoteAddress ?? "")) return
    socket.destroy()
    answer({ _tag: "Refused" })
  })
  setInterval(() => {
    if (socket.bytesRead > mostBytes) socket.destroy(new Error("The server says more than PostgreSQL would"))
  }, 20)
  const tls = tlsOf[task.tls]
  const client = new Client({
    host: task.address,
    port: task.port,
    user: task.user,
    // A function, because the driver takes an empty text for none.
    password: () => task.password,
    database: task.database,
    ssl: tls === false || isIP(task.host) !== 0 ? tls : { servername: task.host, ...tls },
    stream: () => socket,
    application_name: "svc connection test",
    ...(task.options === undefined ? {} : { options: task.options })
  })
  let version: string | null = null
  const { connection } = client as unknown as { readonly connection: Wire }
  connection.on("parameterStatus", ({ parameterName, parameterValue }) => {
    if (parameterName === "server_version") version = parameterValue.slice(0, 100)
  })
  const fail = (cause: unknown) => {
    const { code, message } = cause as Error & { readonly code?: string }
    answer({ _tag: "Failed", message, code, server: cause instanceof DatabaseError })
  }
  client.on("error", fail)
  client.connect().then(
    () =>
      client
        .query("select 1")
        .then(() => answer({ _tag: "SignedIn", version, millis: performance.now() - from }), fail),
    (cause: unknown) => fail(cause)
  )
}

const port = parentPort
if (port === null) throw new Error("This runs as a worker thread")
signIn(workerData as SignInTask, (reply) => port.postMessage(reply))
