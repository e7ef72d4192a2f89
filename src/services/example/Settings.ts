import { Context, Effect, Layer } from "effect"
import { oneOf, SettingError } from "../../domain/Settings.ts"
import { supabaseEnabled } from "../supabase/Settings.ts"

export class ExampleSettings extends Context.Service<
  ExampleSettings,
  {
    /** SVC_EXAMPLE: whether the example is made and its page served. */
    readonly enabled: boolean
  }
>()("svc/services/ExampleSettings") {
  static readonly layer = Layer.effect(
    ExampleSettings,
    Effect.gen(function* () {
      const enabled = (yield* oneOf("SVC_EXAMPLE", "none", ["none", "todo"])) === "todo"
      if (enabled && !(yield* supabaseEnabled)) {
        return yield* new SettingError({ message: "SVC_EXAMPLE requires SVC_SUPABASE=true" })
      }
      return ExampleSettings.of({ enabled })
    })
  )
}
