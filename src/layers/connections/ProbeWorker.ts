import { isIP, Socket } from "node:net"
import { type ConnectionOptions } from "node:tls"
import { parentPort, workerData } from "node:worker_threads"
import { Client, DatabaseError } from "pg"
import { isPublicAddress } from "../../domain/PublicAddress.ts"

// The worker of ProbePostgres.ts: signs in to one PostgreSQL server, once. It is a thread because the driver's parser
// trusts the server: given another protocol it may throw an uncatchable error or never return.

export interface SignInTask {
  /** The host as written in the connection string, for certificates. */
  readonly host: string
  /** An IP address, or a directory of Unix sockets. */
  readonly address: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  readonly options: string | undefined
  /** `any`: certificate not verified. `ca`: verified, but not its host name. */
  readonly tls: "none" | "any" | "ca" | "full"
  readonly allowPrivate: boolean
}

export type SignInReply =
  /** `millis`: the duration. */
  | { readonly _tag: "SignedIn"; readonly version: string | null; readonly millis: number }
  | { readonly _tag: "Refused" }
  /** `server`: the error was sent by PostgreSQL. */
  | { readonly _tag: "Failed"; readonly message: string; readonly code: string | undefined; readonly server: boolean }

/** Internals of the driver that its types do not declare. */
interface Wire {
  readonly on: (
    event: "parameterStatus",
    listener: (message: { readonly parameterName: string; readonly parameterValue: string }) => void
  ) => void
}

/** No server sends more than this for a sign-in and `select 1`, in bytes. */
const maxBytes = 1024 * 1024

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
    if (socket.bytesRead > maxBytes) socket.destroy(new Error("The server sent more data than PostgreSQL would"))
  }, 20)
  const tls = tlsOf[task.tls]
  const client = new Client({
    host: task.address,
    port: task.port,
    user: task.user,
    // A function, because the driver treats an empty string as absent.
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
if (port === null) throw new Error("ProbeWorker.ts must run as a worker thread")
signIn(workerData as SignInTask, (reply) => port.postMessage(reply))
