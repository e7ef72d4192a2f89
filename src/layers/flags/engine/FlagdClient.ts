import { Clock, Data, Effect, type Scope } from "effect"
import { type FlagEnvironment } from "../../../domain/flags/Environment.ts"
import {
  type FlagContext,
  type FlagResult,
  type FlagSetMetadata,
  type FlagValue
} from "../../../domain/flags/Evaluation.ts"
import { jsonProblems } from "../../../domain/flags/Json.ts"
import { isJsonObject } from "../../../domain/text/JsonObject.ts"
import { type UpstreamAnswer, type UpstreamFailure, makeUpstreamWith } from "../../net/Upstream.ts"

/** The result of one flag in flagd; "missing": flagd does not have it in that environment. */
type FlagdFlag = FlagResult | "missing"

/** The reasons of flagd, and the synonyms that OpenFeature defines for them. */
const reasons: ReadonlyMap<unknown, FlagValue["reason"]> = new Map([
  ["STATIC", "STATIC"],
  ["CACHED", "STATIC"],
  ["TARGETING_MATCH", "TARGETING_MATCH"],
  ["SPLIT", "TARGETING_MATCH"],
  ["DEFAULT", "DEFAULT"],
  ["FALLBACK", "DEFAULT"],
  ["DISABLED", "DISABLED"]
])

/** Limits of a value, above those of variants. */
const bounds = { depth: 200, nodes: Number.POSITIVE_INFINITY, stored: false }

/** Undefined unless it names the environment and a version, which the sync port sends with each flag set. */
const metadataOf = (given: unknown, environment: FlagEnvironment): FlagSetMetadata | undefined => {
  if (!isJsonObject(given)) return undefined
  const { flagSetId, version } = given
  return flagSetId === environment && typeof version === "string" && /^\d{1,15}$/.test(version)
    ? { flagSetId: environment, version }
    : undefined
}

/** One flag of a response; undefined: it is not as expected. */
const flagOf = (body: unknown, environment: FlagEnvironment): FlagdFlag | undefined => {
  if (!isJsonObject(body)) return undefined
  const { errorCode, errorDetails, key, reason, value, variant } = body
  if (typeof key !== "string") return undefined
  if (errorCode === "FLAG_NOT_FOUND") return "missing"
  const metadata = metadataOf(body["metadata"], environment)
  if (metadata === undefined) return undefined
  if (errorCode !== undefined) {
    if (errorCode !== "PARSE_ERROR" && errorCode !== "GENERAL") return undefined
    const details = typeof errorDetails === "string" ? errorDetails.slice(0, 500) : "flagd gave no details"
    return { key, reason: "ERROR", errorCode, errorDetails: details, metadata }
  }
  const outcome = reasons.get(reason)
  if (outcome === undefined) return undefined
  if (variant === undefined && value === undefined) return { key, reason: outcome, metadata }
  return typeof variant === "string" && value !== undefined && jsonProblems(value, bounds).length === 0
    ? { key, reason: outcome, variant, value, metadata }
    : undefined
}

/** The response to a request for one flag; undefined: it is not as expected. */
const readFlag = (key: string, environment: FlagEnvironment, status: number, body: unknown): FlagdFlag | undefined => {
  if (status !== 200 && status !== 400 && status !== 404) return undefined
  const flag = flagOf(body, environment)
  const expected = flag === "missing" ? 404 : flag?.reason === "ERROR" ? 400 : 200
  if (status !== expected || !isJsonObject(body) || body["key"] !== key) return undefined
  return flag
}

/** The response to a request for all flags; undefined: it is not as expected. */
const readFlags = (
  environment: FlagEnvironment,
  status: number,
  body: unknown
): ReadonlyArray<FlagResult> | undefined => {
  if (status !== 200 || !isJsonObject(body) || !Array.isArray(body["flags"])) return undefined
  const flags: Array<FlagResult> = []
  for (const one of body["flags"] as ReadonlyArray<unknown>) {
    const flag = flagOf(one, environment)
    if (flag === undefined || flag === "missing") return undefined
    flags.push(flag)
  }
  return flags
}

/** A period in which flagd does not evaluate, or evaluates outdated rules. */
export interface FlagdOutage {
  readonly ongoing: () => boolean
  /** Logs the failure and polls flagd until it has recovered; no effect during an outage. */
  readonly begin: (failure: FlagdFailure) => Effect.Effect<void>
}

/** Pause between two polls, in ms. */
const pollMillis = 1_000

/** `isCurrent`: whether flagd evaluates the current rules. */
export const makeOutage = (
  address: string,
  fallback: boolean,
  isCurrent: Effect.Effect<boolean, FlagdFailure>
): Effect.Effect<FlagdOutage, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const clock = yield* Clock.Clock
    let ongoing = false

    const recovered: Effect.Effect<void> = Effect.delay(
      Effect.orElseSucceed(isCurrent, () => false),
      pollMillis
    ).pipe(Effect.flatMap((current) => (current ? Effect.void : recovered)))

    const watch = (since: number) =>
      Effect.flatMap(recovered, () => {
        ongoing = false
        const seconds = Math.round((clock.currentTimeMillisUnsafe() - since) / 1000)
        return Effect.logInfo(`flagd at ${address} recovered after ${seconds} s`)
      })

    return {
      ongoing: () => ongoing,
      begin: ({ cause, message }) =>
        Effect.suspend(() => {
          if (ongoing) return Effect.void
          ongoing = true
          const suffix = fallback ? "; this process evaluates flags until it recovers" : ""
          return Effect.andThen(
            Effect.logWarning(`flagd at ${address} failed: ${message} (${cause})${suffix}`),
            Effect.forkIn(watch(clock.currentTimeMillisUnsafe()), scope)
          )
        })
    }
  })

/** Time limit of a call including its retry, in ms. */
const callMillis = 5_000
/** Default limit of flagd for a body, in bytes. */
export const flagdBodyLimit = 1_000_000
/** The response for all flags may be somewhat larger than the largest configuration that flagd accepts. */
const limits = { answerBytes: 16 * 1024 * 1024, connections: 128 }

/** Why flagd did not evaluate. `message` is for clients and ends a sentence; `cause` is for the log. */
export class FlagdFailure extends Data.TaggedError("FlagdFailure")<{
  readonly reason: "timeout" | "failed" | "behind"
  readonly message: string
  readonly cause: string
}> {}

export const timedOut = (cause: string) =>
  new FlagdFailure({ reason: "timeout", message: "flagd did not respond in time", cause })

const unreachable = (cause: string) => new FlagdFailure({ reason: "failed", message: "flagd is unreachable", cause })

const unexpected = (cause: string) =>
  new FlagdFailure({ reason: "failed", message: "flagd returned an unexpected response", cause })

/** The context exceeds the body limit of flagd. */
type TooLarge = "too large"

export interface Flagd {
  /** `host:port` of OFREP. */
  readonly address: string
  readonly one: (
    environment: FlagEnvironment,
    key: string,
    context: FlagContext
  ) => Effect.Effect<FlagdFlag | TooLarge, FlagdFailure>
  readonly all: (
    environment: FlagEnvironment,
    context: FlagContext
  ) => Effect.Effect<ReadonlyArray<FlagResult> | TooLarge, FlagdFailure>
}

const failureOf = ({ message, reason }: UpstreamFailure) =>
  reason === "timeout" || message === "UND_ERR_CONNECT_TIMEOUT"
    ? timedOut(message)
    : reason === "unreadable"
      ? unexpected(message)
      : unreachable(message)

/** Calls flagd by OFREP over kept-alive connections. An IPv6 `host` may have brackets. */
export const makeFlagd = (host: string, port: number) =>
  Effect.map(makeUpstreamWith(limits), (upstream): Flagd => {
    const address = `${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`

    const call = <A>(
      environment: FlagEnvironment,
      path: string,
      context: FlagContext,
      read: (answer: UpstreamAnswer) => A | undefined
    ): Effect.Effect<A | TooLarge, FlagdFailure> =>
      Effect.suspend(() => {
        const text = JSON.stringify({ context })
        if (text.length > flagdBodyLimit || Buffer.byteLength(text) > flagdBodyLimit) {
          return Effect.succeed("too large" as const)
        }
        return Effect.matchEffect(
          upstream({
            method: "POST",
            url: `http://${address}/ofrep/v1/evaluate/flags${path}`,
            headers: { "flagd-selector": `flagSetId=${environment}` },
            text,
            millis: callMillis,
            // An evaluation has no effects, so it is retried when the connection had just been closed.
            once: false
          }),
          {
            onFailure: (failure): Effect.Effect<A | TooLarge, FlagdFailure> => Effect.fail(failureOf(failure)),
            onSuccess: (answer): Effect.Effect<A | TooLarge, FlagdFailure> => {
              if (answer.status === 413) return Effect.succeed("too large" as const)
              const value = read(answer)
              return value === undefined ? Effect.fail(unexpected(`status ${answer.status}`)) : Effect.succeed(value)
            }
          }
        )
      })

    return {
      address,
      one: (environment, key, context) =>
        call(environment, `/${encodeURIComponent(key)}`, context, ({ body, status }) =>
          readFlag(key, environment, status, body)
        ),
      all: (environment, context) =>
        call(environment, "", context, ({ body, status }) => readFlags(environment, status, body))
    }
  })
