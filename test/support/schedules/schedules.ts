import { ConfigProvider, Context, Effect, Layer } from "effect"
import { layerWebhookTransport } from "../../../src/layers/webhooks/Transport.ts"
import { layerFakeFunctions } from "../../fakes/functions/invoker.ts"
import { OwnJobs } from "../../../src/services/OwnJobs.ts"
import { layerScheduleRunner } from "../../../src/services/schedules/Runner.ts"
import { Schedules } from "../../../src/services/schedules/Schedules.ts"
import { ScheduleSettings } from "../../../src/services/schedules/Settings.ts"
import { WebhookSettings } from "../../../src/services/webhooks/Settings.ts"
import { type DatabaseOptions, layerDatabase } from "../database.ts"

const env = ConfigProvider.layer(ConfigProvider.fromEnvRecord({ WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_TIMEOUT: "5s" }))

/** Schedules on the test's own database, without a runner. */
export const layerSchedules = (options: DatabaseOptions) =>
  Schedules.layer.pipe(
    Layer.provideMerge(OwnJobs.layer),
    Layer.provideMerge(layerWebhookTransport.pipe(Layer.provide(WebhookSettings.layer))),
    Layer.provideMerge(ScheduleSettings.layer),
    Layer.provideMerge(layerFakeFunctions({})),
    Layer.provide(env),
    Layer.provideMerge(layerDatabase(options)),
    Layer.orDie
  )

/** Starts the runner of a further replica, until the scope closes; gives its own jobs. */
export const replica = Effect.map(
  Layer.build(Layer.fresh(layerScheduleRunner).pipe(Layer.provideMerge(Layer.fresh(OwnJobs.layer)))),
  (context) => Context.get(context, OwnJobs)
)
