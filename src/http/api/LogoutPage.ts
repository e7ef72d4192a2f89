import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Page } from "./ConsentPage.ts"

/** Contract of http/handlers/LogoutPage.ts, for the OpenAPI document. */
export class LogoutPageApi extends HttpApiGroup.make("logoutPage")
  .add(
    HttpApiEndpoint.get("show", "/oauth2/logout", {
      query: { logout_challenge: Schema.String },
      success: Page
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Ask the user to confirm the sign-out",
        description: "For sign-outs without a client's ID token. Needs no JavaScript."
      })
    ),
    HttpApiEndpoint.post("answer", "/oauth2/logout", {
      payload: Schema.Struct({
        logout_challenge: Schema.String,
        token: Schema.String,
        decision: Schema.Literals(["leave", "stay"])
      }).pipe(HttpApiSchema.asFormUrlEncoded()),
      success: Page
    }).annotateMerge(OpenApi.annotations({ summary: "Submit the form of that page" }))
  )
  .annotateMerge(OpenApi.annotations({ title: "Logout page" })) {}
