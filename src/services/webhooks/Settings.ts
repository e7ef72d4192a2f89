import { Context, Effect, Layer } from "effect"
import { duration, durations, flag, integer, SettingError } from "../../domain/Settings.ts"

const seconds = (count: number) => count * 1000

/** WEBHOOK_*, read before anything starts (docs/configuration.md). */
export class WebhookSettings extends Context.Service<
  WebhookSettings,
  {
    /** Timeout of one attempt, in ms. */
    readonly timeout: number
    /** Delay before each retry, in ms. */
    readonly retrySchedule: ReadonlyArray<number>
    /** Consecutive failures that disable a webhook. */
    readonly disableAfter: number
    /** Concurrent deliveries. */
    readonly concurrency: number
    /** Whether receivers may have loopback and private addresses. */
    readonly allowPrivate: boolean
  }
>()("svc/services/WebhookSettings") {
  static readonly layer = Layer.effect(
    WebhookSettings,
    Effect.gen(function* () {
      const timeout = yield* duration("WEBHOOK_TIMEOUT", 15_000)
      if (timeout < 100 || timeout > 300_000) {
        return yield* new SettingError({ message: "WEBHOOK_TIMEOUT must be from 100ms to 5m" })
      }
      return WebhookSettings.of({
        timeout,
        retrySchedule: yield* durations(
          "WEBHOOK_RETRY_SCHEDULE",
          [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000].map(seconds)
        ),
        disableAfter: yield* integer("WEBHOOK_DISABLE_AFTER", 20, 1, 1_000_000),
        concurrency: yield* integer("WEBHOOK_CONCURRENCY", 50, 1, 1000),
        allowPrivate: yield* flag("WEBHOOK_ALLOW_PRIVATE", false)
      })
    })
  )
}
