import { Clock, Effect, Layer, Schedule } from "effect"
import { keyPattern } from "../../../domain/flags/Flag.ts"
import { type FlagEnvironment, flagEnvironments } from "../../../domain/flags/Environment.ts"
import { type FlagContext, type FlagFailure, type FlagResult } from "../../../domain/flags/Evaluation.ts"
import { type FlagSet } from "../../../domain/flags/sets/Set.ts"
import { BadGateway, GatewayTimeout } from "../../../domain/errors.ts"
import { FlagEngine } from "../../../services/ports/FlagEngine.ts"
import { FlagSets } from "../../../services/flags/Sets.ts"
import { FlagSettings } from "../../../services/flags/Settings.ts"
import { FlagdFailure, flagdBodyLimit, makeFlagd, makeOutage, timedOut } from "./FlagdClient.ts"

/** Time limit for a change to reach flagd, in ms. */
const syncMillis = 2_000
/** The limit during an outage, which is long enough to detect that flagd has recovered. */
const outageSyncMillis = 200
/** Pauses between two polls for a change, in ms. They grow from the first to the maximum. */
const [firstPause, maxPause] = [2, 50]
/** Time limit for flagd in the status, in ms. */
const statusMillis = 2_000

/** Retries a stored flag that flagd does not have yet, with growing pauses over some 150 ms. */
const propagation = Schedule.exponential("5 millis").pipe(Schedule.upTo({ times: 5 }))

const behind = (environment: FlagEnvironment) =>
  new FlagdFailure({
    reason: "behind",
    message: `flagd does not have the current flags of ${environment}`,
    cause: "not synced"
  })

const errorOf = ({ message, reason }: FlagdFailure): BadGateway | GatewayTimeout => {
  const error = `Failed to evaluate flags: ${message}`
  if (reason === "timeout") return new GatewayTimeout({ error, code: "FLAGS_TIMEOUT", hint: remedy })
  if (reason === "behind") return new BadGateway({ error, code: "FLAGS_BEHIND" })
  return new BadGateway({ error, code: "FLAGS_UNAVAILABLE", hint: remedy })
}

/** Anonymous callers see it too, so that it does not have the address. */
const remedy =
  "Start flagd at FLAGS_HOST and FLAGS_HTTP_PORT, unset FLAGS_HOST to evaluate in the service, or set SVC_FLAGS_FALLBACK=true"

/** How long flagd may take to answer for the first time: it is often started together with the service. */
const firstAnswer = Schedule.spaced("250 millis").pipe(Schedule.upTo({ times: 8 }))

const tooLarge = (key: string, { metadata }: FlagSet): FlagFailure => ({
  key,
  reason: "ERROR",
  errorCode: "GENERAL",
  errorDetails: `The context is too large for flagd: its default limit is ${flagdBodyLimit} bytes of JSON`,
  metadata
})

/**
 * Evaluates with the flagd at FLAGS_HOST, which gets its flags from the sync port. 502 `FLAGS_UNAVAILABLE`: flagd is
 * unreachable, or its response is not about flags of this service; 502 `FLAGS_BEHIND`: flagd lacks a stored flag; 504
 * `FLAGS_TIMEOUT`. With SVC_FLAGS_FALLBACK this process evaluates instead, until flagd has caught up.
 */
export const layerFlagEngineFlagd = Layer.effect(
  FlagEngine,
  Effect.gen(function* () {
    const sets = yield* FlagSets
    const clock = yield* Clock.Clock
    const { fallback, host = "", httpPort } = yield* FlagSettings
    const flagd = yield* makeFlagd(host, httpPort)

    /** The version of the environment in flagd; -1: flagd does not have it. */
    const versionIn = (environment: FlagEnvironment): Effect.Effect<number, FlagdFailure> => {
      const [probe] = sets.current(environment).flags.keys()
      if (probe === undefined) {
        // Flags carry the version. An environment without flags counts as current once flagd has none either.
        return Effect.map(flagd.all(environment, {}), (flags) =>
          flags === "too large" ? -1 : Number(flags[0]?.metadata.version ?? Number.POSITIVE_INFINITY)
        )
      }
      return Effect.map(flagd.one(environment, probe, {}), (flag) =>
        typeof flag === "string" ? -1 : Number(flag.metadata.version)
      )
    }

    const isCurrent = Effect.map(
      Effect.forEach(
        flagEnvironments,
        (environment) => Effect.map(versionIn(environment), (version) => version >= sets.current(environment).version),
        { concurrency: "unbounded" }
      ),
      (all) => all.every((current) => current)
    )
    const outage = yield* makeOutage(flagd.address, fallback, isCurrent)

    /** Runs the request to flagd, or with the fallback the evaluation in this process. */
    const guarded = <A>(
      request: Effect.Effect<A, FlagdFailure>,
      local: () => A
    ): Effect.Effect<A, BadGateway | GatewayTimeout> =>
      Effect.suspend(() =>
        fallback && outage.ongoing()
          ? Effect.sync(local)
          : Effect.catch(request, (failure) =>
              Effect.andThen(outage.begin(failure), fallback ? Effect.sync(local) : Effect.fail(errorOf(failure)))
            )
      )

    const mayArrive = ({ reason }: FlagdFailure) => reason === "behind" && !outage.ongoing()

    const evaluateLocally = (environment: FlagEnvironment, key: string, context: FlagContext) =>
      sets.current(environment).evaluate(key, context, clock.currentTimeMillisUnsafe())

    const evaluate = (environment: FlagEnvironment, key: string, context: FlagContext) => {
      const local = () => evaluateLocally(environment, key, context)
      // No flag can have this key, and as part of a path it could have another meaning.
      if (!keyPattern.test(key)) return Effect.sync(local)
      const request = Effect.flatMap(flagd.one(environment, key, context), (found) => {
        const set = sets.current(environment)
        const flag = set.flags.get(key)
        if (flag === undefined) {
          // Deleted, although flagd may still have it; or just created by another process.
          const newer = typeof found !== "string" && Number(found.metadata.version) > set.version
          return Effect.succeed(newer ? found : local())
        }
        if (found === "missing") return Effect.fail(behind(environment))
        set.evaluations++
        flag.evaluatedAt = clock.currentTimeMillisUnsafe()
        return Effect.succeed(found === "too large" ? tooLarge(key, set) : found)
      })
      return guarded(Effect.retry(request, { schedule: propagation, while: mayArrive }), local)
    }

    const evaluateAll = (environment: FlagEnvironment, context: FlagContext) => {
      const local = () => sets.current(environment).evaluateAll(context, clock.currentTimeMillisUnsafe())
      const request = Effect.flatMap(flagd.all(environment, context), (found) => {
        const set = sets.current(environment)
        if (found === "too large") return Effect.succeed(Array.from(set.flags.keys(), (key) => tooLarge(key, set)))
        if (found.length === 0 && set.flags.size > 0) return Effect.fail(behind(environment))
        const now = clock.currentTimeMillisUnsafe()
        set.evaluations += found.length
        for (const { key } of found) {
          const flag = set.flags.get(key)
          if (flag !== undefined) flag.evaluatedAt = now
        }
        return Effect.succeed(found)
      })
      return guarded<ReadonlyArray<FlagResult>>(
        Effect.retry(request, { schedule: propagation, while: mayArrive }),
        local
      )
    }

    const confirmed = Effect.fnUntraced(function* (environment: FlagEnvironment, revision: number) {
      for (let pause = firstPause; ; pause = Math.min(2 * pause, maxPause)) {
        const version = yield* versionIn(environment)
        if (version >= Math.min(revision, sets.current(environment).version)) return
        yield* Effect.sleep(pause)
      }
    })

    const synced = Effect.fnUntraced(function* (environments: ReadonlyArray<FlagEnvironment>, revision: number) {
      if (!(yield* Effect.match(sets.awaitRevision(revision), { onSuccess: () => true, onFailure: () => false })))
        return false
      if (fallback && outage.ongoing()) return true
      return yield* Effect.forEach(environments, (environment) => confirmed(environment, revision), {
        concurrency: "unbounded",
        discard: true
      }).pipe(
        Effect.timeoutOrElse({
          duration: outage.ongoing() ? outageSyncMillis : syncMillis,
          orElse: () => Effect.fail(behind(environments[0] ?? "production"))
        }),
        Effect.matchEffect({
          onSuccess: () => Effect.succeed(true),
          // This process evaluates from now on if there is a fallback, and it has the change.
          onFailure: (failure) => Effect.as(outage.begin(failure), fallback)
        })
      )
    })

    const failures = Effect.forEach(
      flagEnvironments,
      (environment) =>
        Effect.map(versionIn(environment), (version) =>
          version >= sets.current(environment).version ? undefined : behind(environment)
        ),
      { concurrency: "unbounded" }
    ).pipe(
      Effect.timeoutOrElse({ duration: statusMillis, orElse: () => Effect.fail(timedOut(`${statusMillis} ms`)) }),
      Effect.map((all) => all.find((failure) => failure !== undefined)),
      Effect.catch((failure) => Effect.succeed(failure))
    )
    const status = Effect.map(failures, (failure) => {
      const suffix = fallback && outage.ongoing() ? "; this process evaluates in the meantime" : ""
      return {
        engine: "flagd" as const,
        address: flagd.address,
        connected: failure === undefined || failure.reason === "behind",
        error: failure === undefined ? null : `${failure.message}${suffix}`
      }
    })

    yield* Effect.logInfo(`Flags are evaluated by flagd at ${flagd.address}`)
    // Otherwise only the first evaluation would reveal that nothing answers there.
    yield* flagd
      .all("production", {})
      .pipe(
        Effect.retry({ schedule: firstAnswer, while: ({ reason }) => reason === "failed" }),
        Effect.catch(outage.begin),
        Effect.forkScoped
      )
    return FlagEngine.of({ evaluate, evaluateAll, synced, status, external: true, degraded: outage.ongoing })
  })
)
