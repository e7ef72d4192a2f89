import { Context, Effect, Layer } from "effect"
import { flag } from "../../domain/Settings.ts"

export class DashboardSettings extends Context.Service<
  DashboardSettings,
  {
    /** SVC_DASHBOARD: whether the dashboard is served and browsers can sign in to it. */
    readonly enabled: boolean
  }
>()("svc/services/DashboardSettings") {
  static readonly layer = Layer.effect(
    DashboardSettings,
    Effect.map(flag("SVC_DASHBOARD", true), (enabled) => DashboardSettings.of({ enabled }))
  )
}
