import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Unavailable } from "../../domain/errors.ts"
import { ServiceStatus } from "../../domain/ServiceStatus.ts"
import { ServiceRole } from "../access/Access.ts"

/** The service's status (spec: management reads of the client API). */
export class StatusApi extends HttpApiGroup.make("status")
  .add(
    HttpApiEndpoint.get("get", "/v1/status", { success: ServiceStatus, error: Unavailable }).annotateMerge(
      OpenApi.annotations({ summary: "Get the version, uptime and database status" })
    )
  )
  .middleware(ServiceRole)
  .annotateMerge(OpenApi.annotations({ title: "Status" })) {}
