import { Cause, Clock, Deferred, Effect, Exit, Scope } from "effect"
import {
  BadGateway,
  type GatewayTimeout,
  type NotImplemented,
  type PayloadTooLarge,
  Unavailable
} from "../../domain/errors.ts"
import { sampleOf } from "../../domain/metrics/Sample.ts"
import { type FunctionEngine, type FunctionProcess, type RunnableFunction } from "../ports/functions/FunctionEngine.ts"
import { type FunctionReply, type PassedOnCall } from "../ports/supabase/FunctionServer.ts"
import { type FunctionLogs } from "./Logs.ts"
import { type FunctionSettings } from "./Settings.ts"

/** A version of a function, with all that its process depends on. */
export interface CallableVersion extends Omit<RunnableFunction, "printed"> {
  readonly name: string
  readonly version: number
  /** Identifies its files. */
  readonly content: string
  readonly verifyJwt: boolean
}

type StartFailure = BadGateway | NotImplemented | Unavailable
type CallFailure = StartFailure | GatewayTimeout | PayloadTooLarge

/** The process of a version, from before it has started. */
interface Running {
  readonly version: CallableVersion
  readonly process: Deferred.Deferred<FunctionProcess, StartFailure>
  readonly scope: Scope.Closeable
  started: FunctionProcess | undefined
  calls: number
  lastUsed: number
  /** It takes no calls any more, and ends with its last one. */
  retired: boolean
}

/** How often processes are checked, in ms. */
const watchEvery = 200
/** The delay after an n-th crash in a row, in ms; a process that has lived for a minute starts over. */
const backoff = (crashes: number) => Math.min(30_000, 250 * 2 ** (crashes - 1))
const recovered = 60_000

interface Crashes {
  count: number
  until: number
  why: string
}

/** The processes of functions: one for each, of the version that is called, from its first call until it is idle. */
export const makeProcesses = Effect.fnUntraced(function* (
  engine: FunctionEngine["Service"],
  settings: FunctionSettings["Service"],
  logs: FunctionLogs["Service"]
) {
  const clock = yield* Clock.Clock
  const layerScope = yield* Effect.scope
  const context = yield* Effect.context()
  const current = new Map<string, Running>()
  const all = new Set<Running>()
  const crashes = new Map<string, Crashes>()
  const now = () => clock.currentTimeMillisUnsafe()
  const fork = <A, E>(effect: Effect.Effect<A, E>) =>
    void Effect.runForkWith(context)(Effect.forkIn(effect, layerScope))

  const stop = (running: Running) => {
    running.retired = true
    if (current.get(running.version.name) === running) current.delete(running.version.name)
    if (!all.delete(running)) return
    fork(Scope.close(running.scope, Exit.void))
  }
  const retire = (running: Running) => {
    running.retired = true
    if (current.get(running.version.name) === running) current.delete(running.version.name)
    if (running.calls === 0) stop(running)
  }

  const crashed = ({ version: { name, version } }: Running, why: string, livedMillis: number) => {
    const before = livedMillis > recovered ? 0 : (crashes.get(name)?.count ?? 0)
    crashes.set(name, { count: before + 1, until: now() + backoff(before + 1), why })
    logs.add(name, version, { level: "error", requestId: "", text: `The process ended: ${why}` })
  }

  /** Ends a process that takes too much memory, computes without a pause, or has nothing to do. */
  const watch = (running: Running, process: FunctionProcess) => {
    const begun = now()
    let pinging = false
    let over = false
    const timer = setInterval(() => {
      if (running.calls === 0 && now() - running.lastUsed > settings.idle) stop(running)
      const memory = process.memory()
      if (memory !== undefined && memory > settings.memory * 1024 * 1024) {
        process.end(`it exceeded ${settings.memory} MiB of memory (SVC_FUNCTIONS_MEMORY)`)
      }
      if (pinging) return
      pinging = true
      void process.ping(settings.blocked).then((answered) => {
        pinging = false
        if (!answered && !over) process.end(`it did not pause for ${settings.blocked} ms (SVC_FUNCTIONS_BLOCKED)`)
      })
    }, watchEvery)
    void process.ended.then((why) => {
      over = true
      clearInterval(timer)
      if (!all.has(running)) return
      crashed(running, why, now() - begun)
      stop(running)
    })
  }

  const start = (version: CallableVersion): Running => {
    const running: Running = {
      version,
      process: Deferred.makeUnsafe(),
      scope: Scope.makeUnsafe(),
      started: undefined,
      calls: 0,
      lastUsed: now(),
      retired: false
    }
    current.set(version.name, running)
    all.add(running)
    const printed: RunnableFunction["printed"] = (line) => logs.add(version.name, version.version, line)
    fork(
      engine.start({ ...version, printed }).pipe(
        Scope.provide(running.scope),
        Effect.onExit((exit) =>
          Effect.sync(() => {
            if (Exit.isSuccess(exit)) {
              running.started = exit.value
              watch(running, exit.value)
            } else {
              const failure = Cause.findErrorOption(exit.cause)
              crashed(running, failure._tag === "Some" ? failure.value.error : "it could not be started", 0)
              stop(running)
            }
            Deferred.doneUnsafe(running.process, exit)
          })
        )
      )
    )
    return running
  }

  const sameEnv = (one: CallableVersion["env"], other: CallableVersion["env"]) =>
    Object.keys(one).length === Object.keys(other).length &&
    Object.entries(one).every(([name, value]) => other[name] === value)
  const isOf = ({ retired, version }: Running, wanted: CallableVersion) =>
    !retired &&
    (version === wanted ||
      (version.digest === wanted.digest && version.version === wanted.version && sameEnv(version.env, wanted.env)))

  const busy = (error: string) => new Unavailable({ error, code: "FUNCTION_BUSY" })

  /** The process for the next call of a version. */
  const running = (version: CallableVersion): Effect.Effect<Running, BadGateway | Unavailable> => {
    const known = current.get(version.name)
    if (known !== undefined && isOf(known, version)) return Effect.succeed(known)
    const crash = crashes.get(version.name)
    if (crash !== undefined && crash.until > now()) {
      return Effect.fail(
        new BadGateway({
          error: `The function has ended ${crash.count} times in a row, and starts again in ${Math.ceil((crash.until - now()) / 1000)} s: ${crash.why}`,
          code: "FUNCTION_FAILED"
        })
      )
    }
    if (known !== undefined) retire(known)
    if (all.size >= settings.processes) {
      const [idle] = Array.from(all)
        .filter(({ calls }) => calls === 0)
        .toSorted((a, b) => a.lastUsed - b.lastUsed)
      if (idle === undefined)
        return Effect.fail(
          busy(`${settings.processes} functions are being called, which is the limit (SVC_FUNCTIONS_PROCESSES)`)
        )
      stop(idle)
    }
    return Effect.sync(() => start(version))
  }

  /** Why a call has failed: the process may end a moment after its connection. */
  const explained = (process: FunctionProcess, failure: BadGateway) =>
    Effect.flatMap(
      Effect.timeoutOption(
        Effect.promise(() => process.ended),
        "5 seconds"
      ),
      (why) =>
        Effect.fail(
          why._tag === "None"
            ? failure
            : new BadGateway({ error: `${failure.error}: ${why.value}`, code: "FUNCTION_FAILED" })
        )
    )

  const call = (
    version: CallableVersion,
    given: PassedOnCall
  ): Effect.Effect<FunctionReply, CallFailure, Scope.Scope> =>
    Effect.flatMap(running(version), (found) => {
      if (found.calls >= settings.concurrency)
        return Effect.fail(
          busy(`The function has ${settings.concurrency} calls, which is the limit (SVC_FUNCTIONS_CONCURRENCY)`)
        )
      const counted = Effect.acquireRelease(
        Effect.sync(() => found.calls++),
        () =>
          Effect.sync(() => {
            found.calls--
            found.lastUsed = now()
            if (found.retired && found.calls === 0) stop(found)
          })
      )
      const process = found.started === undefined ? Deferred.await(found.process) : Effect.succeed(found.started)
      return Effect.andThen(
        counted,
        Effect.flatMap(process, (process) =>
          Effect.catchTags(process.call(given), {
            BadGateway: (failure) => explained(process, failure),
            GatewayTimeout: (failure) => {
              // What it was doing may go on.
              retire(found)
              return Effect.fail(failure)
            }
          })
        )
      )
    })

  /** What processes use. */
  const samples = () => {
    const counts = new Map<string, { processes: number; memory: number }>()
    for (const { started, version } of all) {
      const of = counts.get(version.name) ?? { processes: 0, memory: 0 }
      of.processes++
      of.memory += started?.memory() ?? 0
      counts.set(version.name, of)
    }
    return Array.from(counts).flatMap(([name, { memory, processes }]) => [
      sampleOf("svc_function_processes", { function: name }, processes),
      sampleOf("svc_function_memory_bytes", { function: name }, memory)
    ])
  }

  yield* Effect.addFinalizer(() =>
    Effect.forEach(Array.from(all), ({ scope }) => Scope.close(scope, Exit.void), {
      concurrency: "unbounded",
      discard: true
    })
  )
  /** What a function does now, and why its process ended if it has not run since. */
  const stateOf = (name: string) => {
    const running = current.get(name)?.started !== undefined
    return { running, problem: running ? undefined : crashes.get(name)?.why }
  }
  return { call, has: (name: string) => current.has(name) || crashes.has(name), samples, stateOf }
})
