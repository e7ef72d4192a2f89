import { Context, Effect, Layer } from "effect"
import { integer, text } from "../../domain/Settings.ts"

/** Settings of schedules. */
export class ScheduleSettings extends Context.Service<
  ScheduleSettings,
  {
    /** Database role of service keys, whose members may be the roles of schedules. */
    readonly serviceRole: string
    /** Concurrent runs of a process, those of the service's own jobs not counted. */
    readonly concurrency: number
  }
>()("svc/services/ScheduleSettings") {
  static readonly layer = Layer.effect(
    ScheduleSettings,
    Effect.gen(function* () {
      return ScheduleSettings.of({
        serviceRole: yield* text("SVC_SERVICE_ROLE", "postgres"),
        concurrency: yield* integer("SVC_SCHEDULE_CONCURRENCY", 10, 1, 200)
      })
    })
  )
}
