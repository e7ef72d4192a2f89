import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { type BadGateway, type GatewayTimeout, type NotFound } from "../../domain/errors.ts"
import { type FlagEnvironment, flagEnvironments } from "../../domain/flags/Environment.ts"
import {
  type FlagBulkEvaluation,
  type FlagContext,
  type FlagEvaluation,
  type FlagResult
} from "../../domain/flags/Evaluation.ts"
import { flagNotFound } from "../../domain/flags/Problem.ts"
import { yieldEvery } from "../LoopTurn.ts"
import { logFailure } from "../OwnTables.ts"
import { FlagEngine } from "../ports/FlagEngine.ts"
import { FlagSets } from "./Sets.ts"
import { FlagSettings } from "./Settings.ts"

/** Evaluation for `/api/flags/evaluate` (spec: Flag evaluation). The default environment is FLAGS_ENVIRONMENT. */
export class FlagEvaluations extends Context.Service<
  FlagEvaluations,
  {
    readonly one: (
      key: string,
      context: FlagContext,
      environment: FlagEnvironment | undefined
    ) => Effect.Effect<FlagEvaluation, NotFound | BadGateway | GatewayTimeout>
    /** The results in the order of the keys. A failed evaluation is an entry with its error. */
    readonly many: (
      keys: ReadonlyArray<string>,
      context: FlagContext,
      environment: FlagEnvironment | undefined
    ) => Effect.Effect<FlagBulkEvaluation, BadGateway | GatewayTimeout>
  }
>()("svc/services/FlagEvaluations") {
  static readonly layer = Layer.effect(
    FlagEvaluations,
    Effect.gen(function* () {
      const engine = yield* FlagEngine
      const sets = yield* FlagSets
      const { environment: defaultEnvironment } = yield* FlagSettings

      /** Clients of this API have no default of their own, so a disabled flag has its default variant. */
      const answerOf = (environment: FlagEnvironment, result: FlagResult): FlagEvaluation => {
        const { key, metadata, reason } = result
        if (result.reason === "ERROR") {
          const { errorCode, errorDetails } = result
          return { key, variant: null, value: null, reason, metadata, errorCode, errorDetails }
        }
        if (result.variant !== undefined) return { key, variant: result.variant, value: result.value, reason, metadata }
        const definition = sets.current(environment).flags.get(key)?.definition
        const variant = definition?.defaultVariant ?? null
        return { key, variant, value: variant === null ? null : definition?.variants[variant], reason, metadata }
      }

      const one = (key: string, context: FlagContext, environment: FlagEnvironment = defaultEnvironment) =>
        Effect.flatMapEager(engine.evaluate(environment, key, context), (result) =>
          result.reason === "ERROR" && result.errorCode === "FLAG_NOT_FOUND"
            ? Effect.fail(flagNotFound(key))
            : Effect.succeed(answerOf(environment, result))
        )

      const many = Effect.fnUntraced(function* (
        keys: ReadonlyArray<string>,
        context: FlagContext,
        environment: FlagEnvironment = defaultEnvironment
      ) {
        const pause = yield* yieldEvery()
        const evaluate = (key: string) => Effect.tap(engine.evaluate(environment, key, context), pause)
        const results = yield* Effect.forEach(keys, evaluate, { concurrency: 8 })
        return {
          flags: results.map((result) =>
            result.reason === "ERROR"
              ? { key: result.key, errorCode: result.errorCode, errorDetails: result.errorDetails }
              : answerOf(environment, result)
          )
        }
      })

      return FlagEvaluations.of({ one, many })
    })
  )
}

/** Maximum rows of one statement. */
const batch = 1_000

/**
 * Writes `last_evaluated_at` of the flags evaluated since the last time, every 10 s and once at shutdown. The evaluation
 * itself only sets a number (domain/flags/sets/Set.ts).
 */
export const layerFlagUsage = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const sets = yield* FlagSets
    const clock = yield* Clock.Clock
    let since = clock.currentTimeMillisUnsafe()

    const used = (from: number) => {
      const rows: Array<{ key: string; environment: string; at: number }> = []
      for (const environment of flagEnvironments) {
        for (const [key, { evaluatedAt }] of sets.current(environment).flags) {
          if (evaluatedAt >= from) rows.push({ key, environment, at: evaluatedAt })
        }
      }
      return rows
    }

    const write = Effect.gen(function* () {
      // Further evaluations may follow in this millisecond: the next round includes it again.
      const until = clock.currentTimeMillisUnsafe()
      const rows = used(since)
      for (let start = 0; start < rows.length; start += batch) {
        // Skips flags that have been deleted in the meantime.
        yield* sql.unsafe(
          `insert into svc.flag_usage as known (key, environment, last_evaluated_at)
           select key, environment, to_timestamp(at / 1000.0)
           from json_to_recordset($1::text::json) as used (key text, environment text, at float8)
           where exists (select from svc.flags where flags.key = used.key)
           order by key, environment
           on conflict (key, environment) do update set last_evaluated_at = excluded.last_evaluated_at
             where known.last_evaluated_at < excluded.last_evaluated_at`,
          [JSON.stringify(rows.slice(start, start + batch))]
        )
      }
      since = until
    })

    const quietly = Effect.catchCause(write, logFailure("Failed to write last_evaluated_at"))
    yield* Effect.addFinalizer(() => Effect.timeoutOption(quietly, "2 seconds"))
    yield* Effect.forkScoped(Effect.repeat(Effect.delay(quietly, "10 seconds"), Schedule.forever))
  })
)
