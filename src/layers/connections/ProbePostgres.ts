import { type Socket } from "node:net"
import { Worker } from "node:worker_threads"
import { Data, Effect, Redacted } from "effect"
import { type SslMode, sslModeOf } from "../../domain/connections/Connection.ts"
import { type ConnectionUrl, paramOf } from "../../domain/connections/Url.ts"
import { NotPublic, socketMessages } from "../net/Outbound.ts"
import { errorCode } from "../process/StartError.ts"
import type { SignInReply, SignInTask } from "./ProbeWorker.ts"

/** Why one attempt failed; contains no secret. */
export class ProbeFailure extends Data.TaggedError("ProbeFailure")<{
  readonly message: string
  /** An SQLSTATE or a code of the operating system. */
  readonly code: string | null
  /** The server responded, so the other servers of the connection are not tried. */
  readonly final: boolean
}> {}

/** A successful attempt. */
export interface ProbeSuccess {
  readonly version: string | null
  /** Its duration, without the failed attempts before it. */
  readonly millis: number
}

/** One address of one server. */
export interface ProbeAddress {
  /** The host as written in the connection string, for certificates. */
  readonly host: string
  /** An IP address or a directory of Unix sockets. */
  readonly address: string
  readonly port: number
  /** Must be called once the socket is connected; destroys it if the peer is not allowed. */
  readonly check: (socket: Socket) => void
}

export const notPublic = (host: string) => new NotPublic(host, "SVC_CONNECTIONS_ALLOW_PRIVATE")

/** An error of a Node socket or driver, with a message that does not contain the password. */
export const socketFailure = (cause: unknown, password = ""): ProbeFailure => {
  const code = errorCode(cause) ?? null
  const text = cause instanceof Error ? (cause.message.split("\n")[0] ?? "").slice(0, 300) : "The connection failed"
  const safe = password !== "" && text.includes(password) ? "The connection failed" : text
  return new ProbeFailure({ message: socketMessages[code ?? ""] ?? safe, code, final: false })
}

const noTls = "The server does not support SSL connections"

const tlsOf: Readonly<Record<SslMode, SignInTask["tls"]>> = {
  disable: "none",
  // `prefer` and `require` encrypt without verifying the certificate, as in libpq.
  prefer: "any",
  require: "any",
  "verify-ca": "ca",
  "verify-full": "full"
}

/** The server's own message, unless it contains the password. */
const failureOf = (reply: Extract<SignInReply, { readonly _tag: "Failed" }>, password: string): ProbeFailure => {
  const { code, message } = reply
  if (!reply.server)
    return socketFailure(Object.assign(new Error(message), code === undefined ? {} : { code }), password)
  const text = (message.split("\n")[0] ?? "").slice(0, 500)
  return new ProbeFailure({
    message: password !== "" && text.includes(password) ? `The server refused the connection (${code})` : text,
    code: code ?? null,
    // The server's own error is final unless it is starting, because another server may answer.
    final: code !== "57P03"
  })
}

const notPostgres = new ProbeFailure({ message: "The server is not a PostgreSQL server", code: null, final: false })

const once = (task: SignInTask): Effect.Effect<ProbeSuccess, ProbeFailure> =>
  Effect.callback((resume) => {
    const worker = new Worker(new URL("./ProbeWorker.ts", import.meta.url), {
      workerData: task,
      // The driver reads defaults from environment variables; those of this process must not apply.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 64 }
    })
    const end = (result: Effect.Effect<ProbeSuccess, ProbeFailure>) => {
      void worker.terminate()
      resume(result)
    }
    worker.on("message", (reply: SignInReply) => {
      // The runtime sends its own messages too under `node --watch`.
      if (reply._tag === "SignedIn") end(Effect.succeed(reply))
      else if (reply._tag === "Refused") end(Effect.fail(socketFailure(notPublic(task.host))))
      else if (reply._tag === "Failed") end(Effect.fail(failureOf(reply, task.password)))
    })
    worker.on("error", () => end(Effect.fail(notPostgres)))
    worker.on("exit", () => end(Effect.fail(notPostgres)))
    return Effect.promise(() => worker.terminate())
  })

/** Signs in and runs `select 1`; returns the server's version. */
export const signIn = (
  url: ConnectionUrl,
  { address, host, port }: ProbeAddress,
  allowPrivate: boolean
): Effect.Effect<ProbeSuccess, ProbeFailure> => {
  const mode = sslModeOf(url)
  if (mode === undefined) {
    const message = "sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full"
    return Effect.fail(new ProbeFailure({ message, code: null, final: true }))
  }
  const user = url.user || (paramOf(url.params, "user") ?? "postgres")
  const task: SignInTask = {
    host,
    address,
    port,
    user,
    password: Redacted.value(url.password) || (paramOf(url.params, "password") ?? ""),
    database: url.path || (paramOf(url.params, "dbname") ?? user),
    options: paramOf(url.params, "options"),
    // Unix sockets have no TLS.
    tls: address.startsWith("/") ? "none" : tlsOf[mode],
    allowPrivate
  }
  if (mode !== "prefer") return once(task)
  return Effect.catchIf(
    once(task),
    ({ message }) => message === noTls,
    () => once({ ...task, tls: "none" })
  )
}
