import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { isPlain } from "../../domain/text/StorableText.ts"
import { BrowserRequests } from "../access/BrowserRequests.ts"
import { Success } from "../wire/Body.ts"
import { accountErrors } from "./Errors.ts"

const query = { return_to: Schema.optionalKey(Schema.String) }
const params = { provider: Schema.String.check(Schema.isBetweenLength(1, 30), isPlain) }
const Redirect = Schema.Struct({ redirect_to: Schema.String })
const summary = (summary: string, description?: string) =>
  OpenApi.annotations(description === undefined ? { summary } : { summary, description })

const Link = Schema.Struct({
  /** The provider. */
  id: Schema.String,
  label: Schema.String,
  /** How the provider calls the account. */
  account: Schema.String,
  added_at: Schema.String,
  last_used_at: Schema.NullOr(Schema.String)
}).annotate({ identifier: "LinkedAccount" })

/** Signing in at other services, for pages of the service and of the dashboard's origin. */
export class ProvidersApi extends HttpApiGroup.make("providers")
  .add(
    HttpApiEndpoint.post("begin", "/login/with/:provider", {
      params,
      query,
      success: Redirect,
      error: accountErrors
    }).annotateMerge(
      summary(
        "Start signing in at another service",
        "Redirect the browser to `redirect_to`. It returns to `return_to` with the session cookie; if the sign-in fails, a page says why. `GET methods` lists the providers."
      )
    ),
    HttpApiEndpoint.get("links", "/links", { query, success: Schema.Array(Link), error: accountErrors }).annotateMerge(
      summary("List my accounts at other services")
    ),
    HttpApiEndpoint.post("link", "/links/:provider", {
      params,
      query,
      success: Redirect,
      error: accountErrors
    }).annotateMerge(
      summary(
        "Start linking an account at another service; needs a recent sign-in",
        "Redirect the browser to `redirect_to`. The session must be a cookie's, as the browser returns with it."
      )
    ),
    HttpApiEndpoint.delete("unlink", "/links/:provider", {
      params,
      query,
      success: Success,
      error: accountErrors
    }).annotateMerge(summary("Unlink an account; needs a recent sign-in, and another way to sign in"))
  )
  .middleware(BrowserRequests)
  .prefix("/api/auth")
  .annotateMerge(
    OpenApi.annotations({
      title: "Sign-in with other services",
      description: "The services of SVC_SIGN_IN_WITH. With IDP_PUBLIC_URL, all are 501 `USE_IDP`."
    })
  ) {}
