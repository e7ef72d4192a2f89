import { Context, Effect, Layer } from "effect"
import { flushCompileCache } from "node:module"
import { keyNumber } from "../../domain/access/CountLog.ts"
import { type Place } from "../../domain/access/PlaceCounts.ts"
import { type WindowResult } from "../../domain/access/SlidingWindow.ts"
import { Counts } from "../../services/ports/Counts.ts"
import { Peers } from "../../services/ports/Peers.ts"
import { CountLogFile, type LogPosition } from "./CountLogFile.ts"
import { type FromWorker, notifyTimeout, PeerHandlers, type ToWorker } from "./Messages.ts"

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
 * In a worker: the counts that it shares with the others, and the messages between them. The parent's `stop` ends it as
 * SIGTERM does.
 */
export const layerWorker = Layer.effectContext(
  Effect.gen(function* () {
    const context = yield* Effect.context()
    const handlers = new PeerHandlers()
    const waiting = new Map<number, () => void>()
    let last = 0
    let joined: (position: LogPosition) => void = () => undefined
    const receive = (message: ToWorker) => {
      if (message.svc === "joined") joined(message.position)
      else if (message.svc === "acknowledged") waiting.get(message.id)?.()
      else if (message.svc === "stop") process.emit("SIGTERM")
      else if (message.svc === "do") {
        const { id, topic } = message
        const done = Effect.sync(() => send({ svc: "done", id }))
        Effect.runForkWith(context)(Effect.andThen(handlers.run(topic, message.message), done))
      }
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => process.on("message", receive)),
      () => Effect.sync(() => process.off("message", receive))
    )
    const position = yield* Effect.callback<LogPosition>((resume) => {
      joined = (position) => resume(Effect.succeed(position))
      send({ svc: "join" })
    })
    const log = new CountLogFile(logFiles, process.pid, position, (generation) =>
      send({ svc: "generation", generation })
    )
    const timer = setInterval(() => log.catchUp(), catchUpMillis)
    yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(timer)))

    const peers = Peers.of({
      on: handlers.on,
      notify: (topic, message) =>
        Effect.callback<void>((resume) => {
          const id = ++last
          waiting.set(id, () => {
            waiting.delete(id)
            resume(Effect.void)
          })
          send({ svc: "notify", id, topic, message })
          return Effect.sync(() => waiting.delete(id))
        }).pipe(Effect.timeoutOption(notifyTimeout), Effect.asVoid)
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
