import { randomUUID } from "node:crypto"
import { Cause, Effect, Exit, FiberMap, Layer, Queue, Schedule, Stream } from "effect"
import { keptText } from "../../domain/schedules/Schedule.ts"
import { CurrentMeters } from "../metrics/Meters.ts"
import { isOutage, logFailure, onOwnTables } from "../OwnTables.ts"
import { Listener } from "../ports/Listener.ts"
import { OwnJobs } from "../OwnJobs.ts"
import { ScheduleSettings } from "./Settings.ts"
import { type ClaimedRun, runLeaseSeconds, makeScheduleStore } from "./Store.ts"
import { makeScheduleTargets } from "./Targets.ts"

/** The longest sleep, in ms, for clocks that are set and notifications that are missed. */
const longest = 30_000
/** The pause after a round that could do nothing of what was due, because others have locked it, in ms. */
const blocked = 1_000
/** How long runs in progress may take at shutdown. */
const drain = "5 seconds"
/** The least time that a run's end may take to be recorded, while the database is away. */
const recordTries = 120

const outcomes = ["succeeded", "failed", "interrupted"] as const
const kinds = ["sql", "stored_function", "function", "http", "own"] as const

/** Runs the schedules. Any number of processes may, on one database; each run is of one of them. */
export const layerScheduleRunner = Layer.effectDiscard(
  Effect.gen(function* () {
    const { concurrency } = yield* ScheduleSettings
    const own = yield* OwnJobs
    const store = yield* makeScheduleStore
    const execute = yield* makeScheduleTargets
    const meters = yield* CurrentMeters
    const { messages } = yield* (yield* Listener).listen("svc_schedules")
    const counters = new Map(
      kinds.flatMap((kind) =>
        outcomes.map((outcome) => [`${kind} ${outcome}`, meters.counter("svc_schedule_runs_total", { kind, outcome })])
      )
    )
    /** What the claims of this process are known by. */
    const claim = randomUUID()
    const running = new Map<string, ClaimedRun>()
    yield* meters.sample(() => [{ name: "svc_schedule_runs_running", labels: {}, value: running.size }])
    const fibers = yield* FiberMap.make<string, void, never>()
    const wakeUp = yield* Queue.sliding<void>(1)
    const wake = Queue.offer(wakeUp, undefined)
    let stopping = false
    let outageLogged = false

    const names = () => [...own.all.keys()]
    const room = () => concurrency - [...running.values()].filter(({ kind }) => kind !== "own").length

    const record = (run: ClaimedRun, exit: Exit.Exit<string | undefined, string>) => {
      const status = Exit.isSuccess(exit) ? "succeeded" : Cause.hasInterrupts(exit.cause) ? "interrupted" : "failed"
      const failure = Exit.isFailure(exit) ? exit.cause.reasons.find((reason) => reason._tag === "Fail") : undefined
      const error = Exit.isSuccess(exit)
        ? null
        : status === "interrupted"
          ? "The service was shutting down"
          : (failure?.error ?? "It ended unexpectedly; the log of the service has why")
      counters.get(`${run.kind} ${status}`)?.()
      const result = Exit.isSuccess(exit) && exit.value !== undefined ? keptText(exit.value) : null
      const recorded =
        Exit.isSuccess(exit) && exit.value === undefined && run.cause === "time"
          ? store.forget(run, claim)
          : store.finish(run, claim, { status, result, error: error === null ? null : keptText(error) })
      return recorded.pipe(
        Effect.retry({ schedule: Schedule.spaced("1 second"), times: recordTries }),
        Effect.catchCause(logFailure("Failed to record a run of a schedule"))
      )
    }

    const perform = (run: ClaimedRun) =>
      execute(run, store.begun(run, claim)).pipe(
        Effect.timeoutOrElse({
          duration: run.timeout_ms,
          orElse: () => Effect.fail(`It took over ${run.timeout_ms / 1000} s`)
        }),
        Effect.tapDefect((defect) =>
          Effect.logError(`Failed to run the schedule "${run.name ?? run.schedule_id}"`, defect)
        ),
        Effect.onExit((exit) => record(run, exit)),
        Effect.ignoreCause,
        Effect.ensuring(
          Effect.suspend(() => {
            running.delete(run.id)
            return wake
          })
        )
      )

    const round = Effect.gen(function* () {
      if (stopping) return yield* Effect.never
      const free = room()
      const wait = yield* store.wait(names(), free)
      outageLogged = false
      if (wait !== undefined && wait <= 0) {
        const { lost, moved, runs } = yield* store.round(names(), free, claim)
        for (const run of runs) {
          running.set(run.id, run)
          yield* FiberMap.run(fibers, run.id, perform(run))
        }
        if (lost.length > 0) yield* Effect.ignore(store.terminate(lost), { log: "Debug" })
        if (moved) return undefined
      }
      const pause = wait === undefined ? longest : wait <= 0 ? blocked : Math.min(longest, Math.ceil(wait))
      yield* Effect.timeoutOption(Queue.take(wakeUp), pause)
      return undefined
    }).pipe(
      Effect.catchCause((cause) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
        const outage = cause.reasons.some((reason) => reason._tag === "Fail" && isOutage(reason.error))
        const log = outage && outageLogged ? Effect.void : logFailure("Failed to look for due schedules")(cause)
        outageLogged = outage
        return Effect.andThen(log, Effect.sleep("1 second"))
      })
    )

    const renew = Effect.gen(function* () {
      if (running.size === 0) return
      const held = new Set(yield* store.renew([...running.keys()], claim))
      for (const id of running.keys()) if (!held.has(id)) yield* FiberMap.remove(fibers, id)
    })

    yield* own.added.pipe(
      Effect.andThen(Effect.suspend(() => store.register([...own.all.values()]))),
      Effect.retry(Schedule.spaced("1 second")),
      Effect.andThen(wake),
      Effect.forever,
      Effect.forkScoped
    )
    yield* Effect.forever(round).pipe(Effect.forkScoped)
    yield* renew.pipe(
      Effect.ignore({ log: "Debug" }),
      Effect.delay(`${runLeaseSeconds / 3} seconds`),
      Effect.forever,
      Effect.forkScoped
    )
    yield* messages.pipe(
      Stream.runForEach(() => wake),
      Effect.forkScoped
    )
    yield* own.add({
      name: "schedules.history",
      summary: "Deletes old runs of schedules",
      times: "41 * * * *",
      timeout: 600,
      catchUp: true,
      run: () => Effect.map(onOwnTables(store.prune), (count) => `${count} runs deleted`)
    })

    // Added last, so it runs first, while the fibers above still run.
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        stopping = true
        yield* Effect.timeoutOption(FiberMap.awaitEmpty(fibers), drain)
        yield* Effect.timeoutOption(FiberMap.clear(fibers), "3 seconds")
      })
    )
  })
)
