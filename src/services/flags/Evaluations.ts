import { Context, Effect, Layer } from "effect"
import { type FlagEnvironment } from "../../domain/flags/Environment.ts"
import {
  type FlagBulkEvaluation,
  type FlagEvaluation,
  type FlagContext,
  type FlagResult
} from "../../domain/flags/Evaluation.ts"
import { type BadGateway, type GatewayTimeout, type NotFound } from "../../domain/errors.ts"
import { yieldEvery } from "../LoopTurn.ts"
import { flagNotFound } from "../../domain/flags/Problem.ts"
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
