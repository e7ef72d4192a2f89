import { Clock, Effect, Layer, Schedule } from "effect"
import { keyPattern } from "../../../domain/flags/Flag.ts"
import { type FlagEnvironment, flagEnvironments } from "../../../domain/flags/Environment.ts"
import { type FlagContext, type FlagFailure, type FlagResult } from "../../../domain/flags/Evaluation.ts"
import { type FlagSet } from "../../../domain/flags/sets/Set.ts"
import { BadGateway, GatewayTimeout } from "../../../domain/errors.ts"
import { ofrepBodyLimit } from "../../../domain/flags/Ofrep.ts"
import { FlagEngine } from "../../../services/ports/FlagEngine.ts"
import { FlagSets } from "../../../services/flags/Sets.ts"
import { FlagSettings } from "../../../services/flags/Settings.ts"
import { FlagdTrouble, late, makeFlagd } from "./FlagdClient.ts"
import { makeOutage } from "./FlagdOutage.ts"

/** How long a change may take to be in flagd before it is waited for no longer, in ms. */
const syncMillis = 2_000
/** The same while flagd is known to be down or behind: long enough to see that it no longer is. */
const hastyMillis = 200
/** Between two looks whether a change is there, in ms: the first, and the longest. */
const [firstPause, longestPause] = [2, 50]
/** How long the status waits for flagd, in ms. */
const statusMillis = 2_000

/** A flag that flagd does not have yet, though it is stored, is asked for again: some 150 ms, in growing steps. */
const arrival = Schedule.exponential("5 millis").pipe(Schedule.upTo({ times: 5 }))

const behind = (environment: FlagEnvironment) =>
  new FlagdTrouble({
    reason: "behind",
    message: `flagd does not have the flags of ${environment} as they are stored`,
    cause: "not synced"
  })

const refused = ({ message, reason }: FlagdTrouble): BadGateway | GatewayTimeout => {
  const error = `Flags can't be evaluated: ${message}`
  if (reason === "late") return new GatewayTimeout({ error, code: "FLAGS_TIMEOUT" })
  return new BadGateway({ error, code: reason === "behind" ? "FLAGS_BEHIND" : "FLAGS_UNAVAILABLE" })
}

const tooLarge = (key: string, { metadata }: FlagSet): FlagFailure => ({
  key,
  reason: "ERROR",
  errorCode: "GENERAL",
  errorDetails: `flagd takes no context this large; ${ofrepBodyLimit} bytes of JSON is its limit, unless set otherwise`,
  metadata
})

/**
 * Evaluates by the flagd at FLAGS_HOST, which has its flags from our sync endpoint. 502 `FLAGS_UNAVAILABLE`: it does
 * not answer, or not with flags of ours; 502 `FLAGS_BEHIND`: it has no flag of a name that is stored; 504
 * `FLAGS_TIMEOUT`. With SVC_FLAGS_FALLBACK this process evaluates instead, until flagd has everything again.
 */
export const layerFlagEngineFlagd = Layer.effect(
  FlagEngine,
  Effect.gen(function* () {
    const sets = yield* FlagSets
    const clock = yield* Clock.Clock
    const { fallback, host = "", httpPort } = yield* FlagSettings
    const flagd = yield* makeFlagd(host, httpPort)

    /** At which version flagd has the flags of an environment; -1: not at all. */
    const versionIn = (environment: FlagEnvironment): Effect.Effect<number, FlagdTrouble> => {
      const [probe] = sets.current(environment).flags.keys()
      if (probe === undefined) {
        // Of no flags nothing says which version they are; flags that are there still do.
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

    /** As flagd answers, or with a fallback this process does. */
    const guarded = <A>(
      asked: Effect.Effect<A, FlagdTrouble>,
      here: () => A
    ): Effect.Effect<A, BadGateway | GatewayTimeout> =>
      Effect.suspend(() =>
        fallback && outage.ongoing()
          ? Effect.sync(here)
          : Effect.catch(asked, (trouble) =>
              Effect.andThen(outage.begin(trouble), fallback ? Effect.sync(here) : Effect.fail(refused(trouble)))
            )
      )

    const isEarly = ({ reason }: FlagdTrouble) => reason === "behind" && !outage.ongoing()

    const evaluatedHere = (environment: FlagEnvironment, key: string, context: FlagContext) =>
      sets.current(environment).evaluate(key, context, clock.currentTimeMillisUnsafe())

    const evaluate = (environment: FlagEnvironment, key: string, context: FlagContext) => {
      const here = () => evaluatedHere(environment, key, context)
      // No flag can have such a name, and in a path it might mean something else.
      if (!keyPattern.test(key)) return Effect.sync(here)
      const asked = Effect.flatMap(flagd.one(environment, key, context), (found) => {
        const set = sets.current(environment)
        const flag = set.flags.get(key)
        if (flag === undefined) {
          // Deleted, whatever an older state in flagd says of it; or made a moment ago by another process.
          const newer = typeof found !== "string" && Number(found.metadata.version) > set.version
          return Effect.succeed(newer ? found : here())
        }
        if (found === "missing") return Effect.fail(behind(environment))
        flag.evaluatedAt = clock.currentTimeMillisUnsafe()
        return Effect.succeed(found === "too large" ? tooLarge(key, set) : found)
      })
      return guarded(Effect.retry(asked, { schedule: arrival, while: isEarly }), here)
    }

    const evaluateAll = (environment: FlagEnvironment, context: FlagContext) => {
      const here = () => sets.current(environment).evaluateAll(context, clock.currentTimeMillisUnsafe())
      const asked = Effect.flatMap(flagd.all(environment, context), (found) => {
        const set = sets.current(environment)
        if (found === "too large") return Effect.succeed(Array.from(set.flags.keys(), (key) => tooLarge(key, set)))
        if (found.length === 0 && set.flags.size > 0) return Effect.fail(behind(environment))
        const now = clock.currentTimeMillisUnsafe()
        for (const { key } of found) {
          const flag = set.flags.get(key)
          if (flag !== undefined) flag.evaluatedAt = now
        }
        return Effect.succeed(found)
      })
      return guarded<ReadonlyArray<FlagResult>>(Effect.retry(asked, { schedule: arrival, while: isEarly }), here)
    }

    const confirmed = Effect.fnUntraced(function* (environment: FlagEnvironment, revision: number) {
      for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
        const version = yield* versionIn(environment)
        if (version >= Math.min(revision, sets.current(environment).version)) return
        yield* Effect.sleep(pause)
      }
    })

    const synced = Effect.fnUntraced(function* (environments: ReadonlyArray<FlagEnvironment>, revision: number) {
      if (!(yield* Effect.match(sets.reach(revision), { onSuccess: () => true, onFailure: () => false }))) return false
      if (fallback && outage.ongoing()) return true
      return yield* Effect.forEach(environments, (environment) => confirmed(environment, revision), {
        concurrency: "unbounded",
        discard: true
      }).pipe(
        Effect.timeoutOrElse({
          duration: outage.ongoing() ? hastyMillis : syncMillis,
          orElse: () => Effect.fail(behind(environments[0] ?? "production"))
        }),
        Effect.matchEffect({
          onSuccess: () => Effect.succeed(true),
          // With a fallback it is this process that answers from now on, and it has the change.
          onFailure: (trouble) => Effect.as(outage.begin(trouble), fallback)
        })
      )
    })

    const troubles = Effect.forEach(
      flagEnvironments,
      (environment) =>
        Effect.map(versionIn(environment), (version) =>
          version >= sets.current(environment).version ? undefined : behind(environment)
        ),
      { concurrency: "unbounded" }
    ).pipe(
      Effect.timeoutOrElse({ duration: statusMillis, orElse: () => Effect.fail(late(`${statusMillis} ms`)) }),
      Effect.map((all) => all.find((trouble) => trouble !== undefined)),
      Effect.catch((trouble) => Effect.succeed(trouble))
    )
    const status = Effect.map(troubles, (trouble) => {
      const then = fallback && outage.ongoing() ? "; this process evaluates meanwhile" : ""
      return {
        engine: "flagd" as const,
        address: flagd.address,
        connected: trouble === undefined || trouble.reason === "behind",
        error: trouble === undefined ? null : `${trouble.message}${then}`
      }
    })

    yield* Effect.logInfo(`Flags are evaluated by flagd at ${flagd.address}`)
    return FlagEngine.of({ evaluate, evaluateAll, synced, status })
  })
)
