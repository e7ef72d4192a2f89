import { Context, Effect, Layer } from "effect"
import { flushCompileCache } from "node:module"
import { type Place, keyNumber } from "../../domain/access/CountLog.ts"
import { type WindowResult } from "../../domain/access/SlidingWindow.ts"
import { Counts } from "../../services/ports/workers/Counts.ts"
import { Peers, type PeerTopic } from "../../services/ports/workers/Peers.ts"
import { CountLogFile, type CountLogPosition } from "./CountLogFile.ts"
import { type FromWorker, PeerHandlers, relayTimeout, type ToWorker } from "./Messages.ts"

/** Descriptors that the parent passes: after stdin, stdout, stderr and the channel. */
const logFiles = [4, 5] as const

/** How often a worker without calls reads the counts of others, in ms. */
const catchUpMillis = 1_000

/** A channel that is closed means that the parent has ended; node:cluster then ends this process. */
const send = (message: FromWorker) => void process.send?.(message, undefined, {}, () => undefined)

/** The counts of a log that this process and others write. */
const sharedCounts = (log: CountLogFile): (typeof Counts)["Service"] => ({
  windows: (window) => ({
    take: (key, limit, now) => log.append({ kind: "take", window, key: keyNumber(key), limit, now }) as WindowResult,
    blockedSeconds: (key, limit, now) => log.blockedSeconds(window, keyNumber(key), limit, now)
  }),
  realtimeClients: () => ({
    enter: (client, limits) =>
      log.append({ kind: "enter", key: keyNumber(client), limit: limits.all, clientLimit: limits.client }) as Place,
    leave: (client) => void log.append({ kind: "leave", key: keyNumber(client) }),
    taken: () => {
      log.catchUp()
      return log.taken
    }
  })
})

/**
 * The layer of a worker: the counts that it shares with the others, and the messages between them. The parent's `stop`
 * ends it as SIGTERM does.
 */
export const layerWorker = Layer.effectContext(
  Effect.gen(function* () {
    const context = yield* Effect.context()
    const handlers = new PeerHandlers()
    const waiting = new Map<number, (answers: ReadonlyArray<string>) => void>()
    let last = 0
    let joined: (position: CountLogPosition) => void = () => undefined
    const receive = (message: ToWorker) => {
      if (message.svc === "joined") joined(message.position)
      else if (message.svc === "acknowledged") waiting.get(message.id)?.(message.answers)
      else if (message.svc === "stop") process.emit("SIGTERM")
      else if (message.svc === "do") {
        const { id, topic } = message
        Effect.runForkWith(context)(
          Effect.map(handlers.run(topic, message.message), (answers) => send({ svc: "done", id, answers }))
        )
      }
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => process.on("message", receive)),
      () => Effect.sync(() => process.off("message", receive))
    )
    const position = yield* Effect.callback<CountLogPosition>((resume) => {
      joined = (position) => resume(Effect.succeed(position))
      send({ svc: "join" })
    })
    const log = new CountLogFile(logFiles, process.pid, position, (generation) =>
      send({ svc: "generation", generation })
    )
    const timer = setInterval(() => log.catchUp(), catchUpMillis)
    yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(timer)))

    const ask = (topic: PeerTopic, message: string) =>
      Effect.callback<ReadonlyArray<string>>((resume) => {
        const id = ++last
        waiting.set(id, (answers) => {
          waiting.delete(id)
          resume(Effect.succeed(answers))
        })
        send({ svc: "notify", id, topic, message })
        return Effect.sync(() => waiting.delete(id))
      }).pipe(Effect.timeoutOrElse({ duration: relayTimeout, orElse: () => Effect.succeed([]) }))
    const peers = Peers.of({
      on: handlers.on,
      ask,
      notify: (topic, message) => Effect.asVoid(ask(topic, message))
    })
    return Context.make(Peers, peers).pipe(Context.add(Counts, sharedCounts(log)))
  })
)

/** Reports that this worker serves. Writes the compiled modules now, for the worker that replaces a killed one. */
export const layerReady = Layer.effectDiscard(
  Effect.sync(() => {
    send({ svc: "ready" })
    flushCompileCache()
  })
)

/** Reports why this worker could not start, or failed later. */
export const reportFailure = (line: string) => Effect.sync(() => send({ svc: "failed", line }))
