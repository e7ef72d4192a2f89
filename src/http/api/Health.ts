import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Unavailable } from "../../domain/errors.ts"

/** For load balancers and container runtimes; no key. */
export class HealthApi extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("alive", "/healthz", {
      success: Schema.Struct({ status: Schema.Literal("ok") })
    }).annotateMerge(OpenApi.annotations({ summary: "The process answers" })),
    HttpApiEndpoint.get("ready", "/readyz", {
      success: Schema.Struct({ status: Schema.Literal("ok") }),
      error: Unavailable
    }).annotateMerge(OpenApi.annotations({ summary: "The database answers too" }))
  )
  .annotateMerge(OpenApi.annotations({ title: "Health" })) {}
