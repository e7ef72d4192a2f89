import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { branchHeaders } from "../wire/BranchHeader.ts"
import { clientErrors } from "./Errors.ts"

const Document = Schema.Record(Schema.String, Schema.Json)

/** The contract of `/v1/db/`; served by http/handlers/ApiDescriptions.ts on the router itself. */
export class ApiDescriptionsApi extends HttpApiGroup.make("apiDescriptions")
  .add(
    HttpApiEndpoint.get("describe", "/v1/db/", {
      headers: { ...branchHeaders, "accept-profile": Schema.optionalKey(Schema.String) },
      success: [Document.pipe(HttpApiSchema.asJson({ contentType: "application/openapi+json" }))],
      error: clientErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "OpenAPI 3.1 of the tables, views and functions of a schema",
        description:
          "What the caller's role may touch, as it is now. `Accept-Profile` chooses the schema. With `Accept: application/json` it is answered as such."
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "API description" })) {}
