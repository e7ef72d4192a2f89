import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { KnownSetting } from "../../domain/Settings.ts"
import { Management } from "../access/Access.ts"

/** The settings of the process that responds. */
export class SettingsApi extends HttpApiGroup.make("settings")
  .add(
    HttpApiEndpoint.get("list", "/api/settings", { success: Schema.Array(KnownSetting) }).annotateMerge(
      OpenApi.annotations({
        summary: "List the settings that hold, with their defaults",
        description: "Secrets, and passwords in URLs, are `****`."
      })
    )
  )
  .middleware(Management)
  .annotateMerge(OpenApi.annotations({ title: "Settings" })) {}
