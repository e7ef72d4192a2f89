import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Unavailable } from "../../domain/errors.ts"
import { Readiness } from "../../domain/ServiceStatus.ts"

/** Health checks for load balancers and container runtimes; without a key. */
export class HealthApi extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("alive", "/healthz", {
      success: Schema.Struct({ status: Schema.Literal("ok") })
    }).annotateMerge(OpenApi.annotations({ summary: "Check that the process is running" })),
    HttpApiEndpoint.get("ready", "/readyz", {
      success: Readiness,
      error: Unavailable
    }).annotateMerge(
      OpenApi.annotations({ summary: "Check that the process is running and the database is reachable" })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Health" })) {}
