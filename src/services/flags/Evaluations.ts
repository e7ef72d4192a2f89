import { Context, Effect, Layer } from "effect"
import { type FlagEnvironment } from "../../domain/flags/Environment.ts"
import { type FlagBulkEvaluation, type FlagEvaluation } from "../../domain/flags/Evaluation.ts"
import { type FlagContext, type FlagResult } from "../../domain/flags/Result.ts"
import { type BadGateway, type GatewayTimeout, NotFound } from "../../domain/errors.ts"
import { yieldEvery } from "../YieldEvery.ts"
import { FlagEngine } from "../ports/FlagEngine.ts"
import { FlagSets } from "./Sets.ts"
import { FlagSettings } from "./Settings.ts"

/** Evaluation as our own API answers it (spec: Flag evaluation), in FLAGS_ENVIRONMENT unless another is named. */
export class FlagEvaluations extends Context.Service<
  FlagEvaluations,
  {
    readonly one: (
      key: string,
      context: FlagContext,
      environment: FlagEnvironment | undefined
    ) => Effect.Effect<FlagEvaluation, NotFound | BadGateway | GatewayTimeout>
    /** In the order of the keys; what fails says so in its place. */
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
      const { environment: usual } = yield* FlagSettings

      /** Who asks us is not expected to know a default of its own: a disabled flag has its default variant. */
      const shown = (environment: FlagEnvironment, result: FlagResult): FlagEvaluation => {
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

      const one = (key: string, context: FlagContext, environment: FlagEnvironment = usual) =>
        Effect.flatMap(engine.evaluate(environment, key, context), (result) =>
          result.reason === "ERROR" && result.errorCode === "FLAG_NOT_FOUND"
            ? Effect.fail(new NotFound({ error: `There is no flag ${key.slice(0, 200)}`, code: "FLAG_NOT_FOUND" }))
            : Effect.succeed(shown(environment, result))
        )

      const many = Effect.fnUntraced(function* (
        keys: ReadonlyArray<string>,
        context: FlagContext,
        environment: FlagEnvironment = usual
      ) {
        const pause = yield* yieldEvery()
        const evaluate = (key: string) => Effect.tap(engine.evaluate(environment, key, context), pause)
        const results = yield* Effect.forEach(keys, evaluate, { concurrency: 8 })
        return {
          flags: results.map((result) =>
            result.reason === "ERROR"
              ? { key: result.key, errorCode: result.errorCode, errorDetails: result.errorDetails }
              : shown(environment, result)
          )
        }
      })

      return FlagEvaluations.of({ one, many })
    })
  )
}
