import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Page } from "./ConsentPage.ts"

/** Contract of http/handlers/NoticePages.ts, for the OpenAPI document. */
export class NoticePagesApi extends HttpApiGroup.make("noticePages")
  .add(
    HttpApiEndpoint.get("signedOut", "/oauth2/signed-out", { success: Page }).annotateMerge(
      OpenApi.annotations({
        summary: "Tell the user that they are signed out",
        description: "The OAuth 2.0 server's default page after a sign-out."
      })
    ),
    HttpApiEndpoint.get("error", "/oauth2/error", {
      query: { error: Schema.optionalKey(Schema.String) },
      success: Page
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Tell the user that an app's request has failed",
        description: "For errors that the OAuth 2.0 server can't return to the app. Status 400."
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Notice pages" })) {}
