import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { knownSettings } from "../../domain/Settings.ts"
import { Api } from "../Api.ts"

export const SettingsHandlers = HttpApiBuilder.group(Api, "settings", (handlers) =>
  handlers.handleAll({ list: () => Effect.sync(knownSettings) })
)
