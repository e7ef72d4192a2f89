import { Effect, Redacted } from "effect"
import { Worker } from "node:worker_threads"
import { type SslMode, sslModeOf } from "../../domain/connections/Connection.ts"
import { type ConnectionUrl, paramOf } from "../../domain/connections/Url.ts"
import { notPublic, type ProbeAddress, ProbeFailure, type ProbeSuccess, socketFailure } from "./ProbeFailure.ts"
import type { SignInReply, SignInTask } from "./ProbeWorker.ts"

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
