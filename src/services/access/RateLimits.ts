import { randomUUID } from "node:crypto"
import { type Clock, Context, Effect, Layer, Schema, Semaphore } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { oneOf } from "../../domain/Settings.ts"
import { SlidingWindow, type WindowResult } from "../../domain/access/SlidingWindow.ts"
import { Counts } from "../ports/workers/Counts.ts"

/** A replica admits this part of a limit before it has to ask, so that a busy key costs no question a call. */
const creditPart = 1 / 50
/**
 * Time in ms for which the numbers of other replicas are used. After half of it they are refreshed in the background.
 */
const knownMillis = 1_000

const Taken = Schema.Struct({ granted: Schema.Boolean, others: Schema.Int, wait_millis: Schema.Int })

/** The state of a key in this replica. */
interface Known {
  readonly turn: Semaphore.Semaphore
  /** Calls of other replicas in the last 60 seconds. */
  others: number
  askedAt: number
  asking: boolean
  /** Calls that were admitted here since the last report. */
  made: number
  /** Calls of a report that is not confirmed, so other replicas may not have counted them yet. */
  reporting: number
  /** No call is admitted before, unless the limit is raised. */
  refusedUntil: number
  refusedLimit: number
}

/**
 * Rate limits over all replicas on one database. Limits below 50 are exact: every call asks. Above, each replica admits up
 * to a fiftieth of the limit between two questions, so N replicas admit at most N fiftieths too many; what it has admitted
 * it reports within a second. Calls count for 60 to 61 seconds. While the database does not answer, a replica counts its
 * own calls, and those of others as it knew them.
 */
export const makeReplicaLimits = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const run = Effect.runForkWith(yield* Effect.context())
  const replica = randomUUID()
  const own = new SlidingWindow()
  const keys = new Map<number, Known>()

  const rows = SqlSchema.findOne({
    Request: Schema.Tuple([Schema.Int, Schema.Int, Schema.Int, Schema.Int]),
    Result: Taken,
    execute: ([key, made, wanted, limit]) =>
      sql.unsafe("select * from svc.take_calls($1::int4, $2, $3::int4, $4::int4, $5::int4)", [
        key,
        replica,
        made,
        wanted,
        limit
      ])
  })

  const knownOf = (key: number): Known => {
    const known = keys.get(key) ?? {
      turn: Semaphore.makeUnsafe(1),
      others: 0,
      askedAt: Number.NEGATIVE_INFINITY,
      asking: false,
      made: 0,
      reporting: 0,
      refusedUntil: 0,
      refusedLimit: 0
    }
    keys.set(key, known)
    return known
  }

  const refusal = (limit: number, millis: number): WindowResult => ({
    allowed: false,
    limit,
    remaining: 0,
    resetSeconds: Math.max(1, Math.ceil(millis / 1000))
  })
  const isRefused = (known: Known, limit: number, now: number) =>
    now < known.refusedUntil && limit <= known.refusedLimit

  /** Counts a call here, as one of the calls that others have left of the limit. */
  const count = (key: number, limit: number, others: number, now: number): WindowResult => {
    const left = limit - others
    if (left < 1) return refusal(limit, knownMillis)
    return { ...own.take(key, left, now), limit }
  }

  const creditOf = (limit: number) => Math.floor(limit * creditPart)
  const mustAsk = ({ askedAt, made, reporting }: Known, limit: number, now: number) =>
    made + reporting >= creditOf(limit) || now - askedAt >= knownMillis

  /** Counts a call without a question. */
  const admit = (key: number, known: Known, limit: number, now: number): WindowResult => {
    const counted = count(key, limit, known.others, now)
    if (counted.allowed) known.made++
    return counted
  }

  /** Reports admitted calls, and asks for further ones. */
  const ask = Effect.fnUntraced(function* (key: number, known: Known, wanted: 0 | 1, limit: number, now: number) {
    const { made } = known
    known.made = 0
    known.reporting = made
    const answer = yield* Effect.onExit(rows([key, made, wanted, limit]), (exit) =>
      Effect.sync(() => {
        known.reporting = 0
        if (exit._tag === "Failure") known.made += made
      })
    )
    known.others = answer.others
    known.askedAt = now
    return answer
  })

  const askFirst = (key: number, known: Known, limit: number, now: number) =>
    known.turn
      .withPermit(
        Effect.suspend(() => {
          // A call that waited may find what the one before it has learned.
          if (isRefused(known, limit, now)) return Effect.succeed(refusal(limit, known.refusedUntil - now))
          if (!mustAsk(known, limit, now)) return Effect.sync(() => admit(key, known, limit, now))
          return Effect.map(ask(key, known, 1, limit, now), ({ granted, others, wait_millis }) => {
            if (granted) return count(key, limit, Math.min(others, limit - 1), now)
            known.refusedUntil = now + wait_millis
            known.refusedLimit = limit
            return refusal(limit, wait_millis)
          })
        })
      )
      .pipe(Effect.catchCause(() => Effect.sync(() => count(key, limit, known.others, now))))

  const askBehind = (key: number, known: Known, limit: number, now: number) => {
    known.asking = true
    const done = Effect.sync(() => {
      known.asking = false
    })
    run(Effect.ensuring(Effect.ignore(known.turn.withPermit(ask(key, known, 0, limit, now))), done))
  }

  return (key: number, limit: number, now: number): Effect.Effect<WindowResult> => {
    const known = knownOf(key)
    if (isRefused(known, limit, now)) return Effect.succeed(refusal(limit, known.refusedUntil - now))
    if (mustAsk(known, limit, now)) return askFirst(key, known, limit, now)
    const counted = admit(key, known, limit, now)
    const soon = known.made * 2 >= creditOf(limit) || (now - known.askedAt) * 2 >= knownMillis
    if (soon && !known.asking) askBehind(key, known, limit, now)
    return Effect.succeed(counted)
  }
})

/** Where calls of keys with a limit are counted. */
export const rateLimitScope = oneOf("SVC_RATE_LIMITS", "process", ["process", "database"])

/**
 * Limits the calls per API key in any 60 seconds. SVC_RATE_LIMITS: `process` counts in memory, over all workers (a restart
 * resets the counts); `database` over all replicas, with an error that `makeReplicaLimits` states.
 */
export class RateLimits extends Context.Service<
  RateLimits,
  {
    /**
     * Counts or refuses one call. A changed limit applies from the next call, to the calls already counted. `now` is
     * `monotonicMillis`. Evaluated without a fiber unless the database must be asked.
     */
    readonly take: (keyId: number, limit: number, now: number) => Effect.Effect<WindowResult>
  }
>()("svc/services/RateLimits") {
  /** Counted in memory. */
  static readonly layerProcess = Layer.effect(
    RateLimits,
    Effect.map(Counts, (counts) => {
      const windows = counts.windows("api-keys")
      return RateLimits.of({ take: (keyId, limit, now) => Effect.succeed(windows.take(keyId, limit, now)) })
    })
  )

  static readonly layer = Layer.unwrap(
    Effect.map(rateLimitScope, (scope) =>
      scope === "process"
        ? RateLimits.layerProcess
        : Layer.effect(
            RateLimits,
            Effect.map(makeReplicaLimits, (take) => RateLimits.of({ take }))
          )
    )
  )
}

/** Milliseconds of a clock that is never adjusted: a change of the wall clock must neither block nor unblock a key. */
export const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
