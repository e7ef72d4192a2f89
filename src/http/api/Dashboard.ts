import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { DashboardUser } from "../../domain/dashboard/Session.ts"
import {
  Forbidden,
  Gone,
  InvalidRequest,
  NotFound,
  TooManyRequests,
  Unauthorized,
  Unavailable
} from "../../domain/errors.ts"
import { Management } from "../access/Access.ts"
import { BrowserRequests } from "../access/BrowserRequests.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

const token = (maxLength: number) => Schema.String.check(Schema.isBetweenLength(1, maxLength))

const Config = Schema.Struct({
  version: Schema.String,
  sign_in: Schema.Struct({
    /** Whether a service_role key can sign in. */
    key: Schema.Boolean,
    /** The URL at which an administrator signs in; null without an identity provider. */
    idp_login_url: Schema.NullOr(Schema.String)
  }),
  /** The origin of presigned URLs. */
  s3_public_origin: Schema.String,
  /** Whether pages of the service may use presigned URLs without a CORS rule of the bucket. */
  s3_admits_pages: Schema.Boolean,
  features: Schema.Struct({
    identity: Schema.Boolean,
    oauth2: Schema.Boolean,
    encryption: Schema.Boolean,
    /** Whether Deno is installed. */
    functions: Schema.Boolean
  })
})

/** The sessions of browsers that use the dashboard; it calls the same endpoints as every other client. */
export class DashboardApi extends HttpApiGroup.make("dashboard")
  .add(
    HttpApiEndpoint.get("show", "/session", { success: DashboardUser }).annotateMerge(
      OpenApi.annotations({ summary: "Show who is signed in" })
    )
  )
  .middleware(Management)
  .add(
    HttpApiEndpoint.post("open", "/session", {
      payload: Schema.Union([Schema.Struct({ key: token(200) }), Schema.Struct({ link: token(200) })]),
      success: DashboardUser.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, Unauthorized, Forbidden, Gone, NotFound, TooManyRequests, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Sign a browser in with a service_role key",
        description:
          "Sets an HttpOnly cookie, which is accepted under `/api`, by `/realtime`, and under `/v1` together with the header `x-svc-dashboard: 1`. It ends after 12 hours without use, after 7 days, and with the key. `link` is the token of the link that the start prints."
      })
    ),
    HttpApiEndpoint.delete("close", "/session", { success: Success, error: Unavailable }).annotateMerge(
      OpenApi.annotations({ summary: "Sign the browser out" })
    ),
    HttpApiEndpoint.get("config", "/config", { success: Config, error: InvalidRequest }).annotateMerge(
      OpenApi.annotations({ summary: "Show what the sign-in page needs to know; needs no credentials" })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(BrowserRequests)
  .prefix("/api/dashboard")
  .annotateMerge(OpenApi.annotations({ title: "Dashboard", description: "Sessions of browsers" })) {}
