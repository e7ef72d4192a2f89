import { Context, Effect, Layer } from "effect"
import { type Worker } from "node:cluster"
import { closeSync } from "node:fs"
import { Peers, type PeerTopic } from "../../services/ports/workers/Peers.ts"
import { CountLogFile, type LogFiles, openLogFiles } from "./CountLogFile.ts"
import { type FromWorker, notifyTimeout, PeerHandlers, type ToWorker } from "./Messages.ts"

/** Size at which the log of counts changes its file, in bytes. */
const maxLogBytes = 4 * 1024 * 1024
const catchUpMillis = 1_000

/** A message that not all workers have acknowledged. */
interface Unacknowledged {
  /** Workers that have not handled it yet. */
  readonly by: Set<Worker>
  /** The answers of the others. */
  readonly answers: Array<string>
  readonly done: () => void
}

/** The process that starts the workers: it relays their messages, and owns the files of their counts. */
export class Primary extends Context.Service<
  Primary,
  {
    readonly logFiles: LogFiles
    /** Handles a message of a worker; false if it is of another kind. */
    readonly receive: (worker: Worker, message: FromWorker) => boolean
    /** Whether some worker serves. */
    readonly serves: () => boolean
    /** The worker's process has ended. */
    readonly remove: (worker: Worker, pid: number) => void
  }
>()("svc/layers/Primary") {}

export const sendToPrimary = (worker: Worker, message: ToWorker) => {
  // A channel that is closed means that the worker is ending.
  if (worker.isConnected()) worker.send(message, () => undefined)
}

/** Provides also the messages between this process's own services and the workers. */
export const layerPrimary = Layer.effectContext(
  Effect.gen(function* () {
    const context = yield* Effect.context()
    const logFiles = yield* Effect.acquireRelease(Effect.sync(openLogFiles), (files) =>
      Effect.sync(() => files.forEach((file) => closeSync(file)))
    )
    const log = new CountLogFile(logFiles, process.pid, undefined, () => undefined)
    /** The workers that read the log, with the generation of the file that each uses. */
    const members = new Map<Worker, number>()
    const serving = new Set<Worker>()
    const upkeep = () => {
      log.catchUp()
      const together = Array.from(members.values()).every((generation) => generation === log.generation)
      if (log.size > maxLogBytes && together) log.rotate()
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => setInterval(upkeep, catchUpMillis)),
      (timer) => Effect.sync(() => clearInterval(timer))
    )

    const handlers = new PeerHandlers()
    const unacknowledged = new Map<number, Unacknowledged>()
    let last = 0
    const handled = (id: number, worker: Worker, answers: ReadonlyArray<string>) => {
      const one = unacknowledged.get(id)
      if (one === undefined || !one.by.delete(worker)) return
      one.answers.push(...answers)
      if (one.by.size > 0) return
      unacknowledged.delete(id)
      one.done()
    }
    /** The answers of the workers that are in time. */
    const askWorkers = (topic: PeerTopic, message: string, except?: Worker) =>
      Effect.suspend(() => {
        const answers: Array<string> = []
        const asked = Effect.callback<void>((resume) => {
          const by = new Set(members.keys())
          if (except !== undefined) by.delete(except)
          if (by.size === 0) return resume(Effect.void)
          const id = ++last
          unacknowledged.set(id, { by, answers, done: () => resume(Effect.void) })
          for (const worker of by) sendToPrimary(worker, { svc: "do", id, topic, message })
          return Effect.sync(() => unacknowledged.delete(id))
        })
        return Effect.as(Effect.timeoutOption(asked, notifyTimeout), answers)
      })

    const receive = (worker: Worker, message: FromWorker) => {
      if (message.svc === "join") {
        const position = log.position()
        members.set(worker, position.generation)
        sendToPrimary(worker, { svc: "joined", position })
      } else if (message.svc === "generation") members.set(worker, message.generation)
      else if (message.svc === "done") handled(message.id, worker, message.answers)
      else if (message.svc === "notify") {
        const { id, topic } = message
        const all = [askWorkers(topic, message.message, worker), handlers.run(topic, message.message)]
        Effect.runForkWith(context)(
          Effect.map(Effect.all(all, { concurrency: "unbounded" }), (answers) =>
            sendToPrimary(worker, { svc: "acknowledged", id, answers: answers.flat() })
          )
        )
      } else {
        if (message.svc === "ready") serving.add(worker)
        return false
      }
      return true
    }
    const remove = (worker: Worker, pid: number) => {
      members.delete(worker)
      serving.delete(worker)
      log.append({ kind: "gone", of: pid })
      for (const id of Array.from(unacknowledged.keys())) handled(id, worker, [])
    }
    const peers = Peers.of({
      on: handlers.on,
      ask: (topic, message) => askWorkers(topic, message),
      notify: (topic, message) => Effect.asVoid(askWorkers(topic, message))
    })
    return Context.make(Primary, { logFiles, receive, serves: () => serving.size > 0, remove }).pipe(
      Context.add(Peers, peers)
    )
  })
)
