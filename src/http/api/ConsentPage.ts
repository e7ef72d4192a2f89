import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

/** An HTML page. */
export const Page = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" }))

/** Contract of http/handlers/ConsentPage.ts, for the OpenAPI document. */
export class ConsentPageApi extends HttpApiGroup.make("consentPage")
  .add(
    HttpApiEndpoint.get("show", "/oauth2/consent", {
      query: { consent_challenge: Schema.String },
      success: Page
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Ask the user what a client may access",
        description: "The consent screen when DASHBOARD_URL is not set. Needs no JavaScript."
      })
    ),
    HttpApiEndpoint.post("answer", "/oauth2/consent", {
      payload: Schema.Struct({
        consent_challenge: Schema.String,
        token: Schema.String,
        decision: Schema.Literals(["allow", "deny", "switch"]),
        grant_scope: Schema.optionalKey(Schema.Array(Schema.String)),
        remember: Schema.optionalKey(Schema.Literal("on"))
      }).pipe(HttpApiSchema.asFormUrlEncoded()),
      success: Page
    }).annotateMerge(OpenApi.annotations({ summary: "Submit the form of that page" }))
  )
  .annotateMerge(OpenApi.annotations({ title: "Consent page" })) {}
