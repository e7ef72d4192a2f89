import cluster, { type Worker } from "node:cluster"
import { createServer } from "node:http"
import { Deferred, Effect, Exit, Layer, Redacted } from "effect"
import { secret, text } from "../../domain/Settings.ts"
import { type EncryptionKey } from "../../domain/connections/SealedText.ts"
import { Shutdown } from "../../services/Shutdown.ts"
import { JwtSecret } from "../../services/access/Tokens.ts"
import { EncryptionKeys } from "../../services/ports/EncryptionKeys.ts"
import { uploadDays } from "../../services/storage/UploadExpiry.ts"
import { apiAt, httpAddress } from "../net/Listener.ts"
import { listen } from "../net/Server.ts"
import { PostgresAddress } from "../postgres/Address.ts"
import { loginUri } from "../postgres/Login.ts"
import { nodeEnvironment } from "../process/NodeEnvironment.ts"
import { StartError } from "../process/StartError.ts"
import { numberVariable, workerCount } from "../process/WorkerSettings.ts"
import { ObjectStoreAddress, apiPort, parentStoreVariable } from "../storage/Address.ts"
import { type FromWorker } from "./Messages.ts"
import { Primary, sendToPrimary } from "./Primary.ts"

const textOf = ({ key }: EncryptionKey) => key.export().toString("base64")

/**
 * The settings by which a worker uses the embedded parts of this process as a replica uses servers elsewhere. They are
 * variables of its environment, which other users of the machine cannot read.
 */
export const workerEnvironment = Effect.gen(function* () {
  const env: Record<string, string> = { ...nodeEnvironment() }
  if ((yield* secret("DATABASE_URL")) === undefined) {
    env["DATABASE_URL"] = loginUri(yield* PostgresAddress)
    const jwt = (yield* JwtSecret).secret
    if (jwt !== undefined) env["SVC_JWT_SECRET"] = Redacted.value(jwt)
    const { current, old } = yield* EncryptionKeys
    if (current !== undefined) env["SVC_ENCRYPTION_KEY"] = textOf(current)
    env["SVC_ENCRYPTION_KEYS_OLD"] = old.map(textOf).join(",")
  }
  if ((yield* text("S3_ENDPOINT", undefined)) === undefined) {
    const store = yield* ObjectStoreAddress
    env["S3_ENDPOINT"] = store.endpoint
    env["S3_PUBLIC_ENDPOINT"] = store.publicEndpoint
    env["S3_REGION"] = store.region
    env["S3_ACCESS_KEY"] = store.accessKey
    env["S3_SECRET_KEY"] = Redacted.value(store.secretKey)
    env["S3_FORCE_PATH_STYLE"] = String(store.forcePathStyle)
    env[parentStoreVariable] = String(yield* apiPort)
    // Otherwise workers would use the default for a store of the operator's own.
    env["S3_UPLOAD_DAYS"] = String(yield* uploadDays)
  }
  return env
})

/** A worker may take this long to end after its shutdown delay, in ms: longer than requests in progress may take. */
const graceMillis = 20_000
/** The pause before the next attempt after one that failed, in ms; doubles up to the second number. */
const [firstPause, maxPause] = [100, 5_000]

interface Started {
  readonly worker: Worker
  readonly ready: Deferred.Deferred<void, StartError>
  /** How the process ended: an exit code or a signal. */
  readonly ended: Deferred.Deferred<string>
}

/** A port that no other process listens on: with SO_REUSEPORT, two services would not notice that they share one. */
const reservePort = Effect.gen(function* () {
  const { host, port } = yield* httpAddress
  const server = createServer()
  const free = yield* listen(server, apiAt(host, port))
  yield* Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
  return String(free)
})

/**
 * The processes that serve the API, on one port. Starts them, replaces one that ends, and ends them with the scope: they
 * finish the requests in progress. If this process is killed, node:cluster ends them.
 */
export const layerWorkers = Layer.effectDiscard(
  Effect.gen(function* () {
    const primary = yield* Primary
    const count = yield* workerCount
    const shutdown = yield* Shutdown
    const endMillis = shutdown.delay + graceMillis
    const env = { ...(yield* workerEnvironment), PORT: yield* reservePort }
    // Workers run the same program with the same options of Node.
    cluster.setupPrimary({
      stdio: ["ignore", "inherit", "inherit", "ipc", ...primary.logFiles],
      serialization: "advanced"
    })
    const running = new Map<number, Started>()
    let stopping = false

    const start = (number: number): Started => {
      const worker = cluster.fork({ ...env, [numberVariable]: String(number) })
      const ready = Deferred.makeUnsafe<void, StartError>()
      const ended = Deferred.makeUnsafe<string>()
      const pid = worker.process.pid ?? 0
      let open = 2
      let how = ""
      // Both the process and its channel must have closed: the channel may still have messages when the process has
      // ended.
      const closed = () => {
        if (--open > 0) return
        primary.remove(worker, pid)
        running.delete(number)
        Deferred.doneUnsafe(ready, Exit.fail(new StartError({ message: `Worker ${number} did not start (${how})` })))
        Deferred.doneUnsafe(ended, Exit.succeed(how))
      }
      worker
        .on("error", ({ message }) => {
          // Otherwise the channel broke, and the process ends as well.
          if (worker.process.pid !== undefined) return
          how = message
          open = 1
          closed()
        })
        .on("message", (message: FromWorker) => {
          if (primary.receive(worker, message)) return
          if (message.svc === "ready") Deferred.doneUnsafe(ready, Exit.void)
          if (message.svc !== "failed") return
          const failure = new StartError({ message: message.line.replace(/^svc: /, "") })
          if (!Deferred.doneUnsafe(ready, Exit.fail(failure))) process.stderr.write(`${message.line}\n`)
        })
        .once("disconnect", closed)
        .once("exit", (code, signal) => {
          how = signal === null ? `exit code ${code}` : signal
          closed()
        })
      const started = { worker, ready, ended }
      running.set(number, started)
      return started
    }

    const stop = ({ ended, worker }: Started) =>
      Effect.gen(function* () {
        // Windows has no signal that a process could handle.
        if (process.platform === "win32") sendToPrimary(worker, { svc: "stop" })
        else worker.process.kill(shutdown.signal())
        const late = yield* Effect.timeoutOption(Deferred.await(ended), endMillis)
        if (late._tag === "Some") return
        yield* Effect.logWarning(`Terminating a worker (process ${worker.process.pid}) that did not end in time`)
        worker.process.kill("SIGKILL")
        yield* Deferred.await(ended)
      })
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        stopping = true
        const stopped = Effect.forEach(running.values(), stop, { concurrency: "unbounded", discard: true })
        // Each worker waits for the same delay. In this process it makes /readyz of the operations port answer 503.
        return Effect.all([stopped, shutdown.begin], { concurrency: "unbounded", discard: true })
      })
    )

    /** Replaces a worker whenever it ends: at once if it had served, else after a pause. */
    const keep = Effect.fnUntraced(function* (number: number, first: Started) {
      let started = first
      for (let pause = 0; ;) {
        const how = yield* Deferred.await(started.ended)
        if (stopping) return
        const { pid } = started.worker.process
        yield* Effect.logError(`Worker ${number} (process ${pid}) ended unexpectedly (${how}); starting another`)
        yield* Effect.sleep(pause)
        if (stopping) return
        const next = start(number)
        started = next
        pause = yield* Deferred.await(next.ready).pipe(
          Effect.tap(() => Effect.logInfo(`Worker ${number} is process ${next.worker.process.pid}`)),
          Effect.as(0),
          Effect.catch(({ message }) =>
            Effect.as(
              Effect.logError(`Failed to start worker ${number}: ${message}`),
              Math.min(Math.max(2 * pause, firstPause), maxPause)
            )
          )
        )
      }
    })

    const first = Array.from({ length: count }, (_, index) => [index + 1, start(index + 1)] as const)
    yield* Effect.forEach(first, ([, { ready }]) => Deferred.await(ready), { concurrency: "unbounded", discard: true })
    const list = first.map(([number, { worker }]) => `${number} is process ${worker.process.pid}`)
    yield* Effect.logInfo(`Workers: ${list.join(", ")}`)
    for (const [number, started] of first) yield* Effect.forkScoped(keep(number, started))
  })
)
