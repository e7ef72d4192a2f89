import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { branchHeaders } from "../wire/BranchHeader.ts"
import { IfNoneMatch } from "../wire/Preconditions.ts"
import { clientErrors } from "./Errors.ts"

const Document = Schema.Record(Schema.String, Schema.Json)

/** The contract of `/v1/db/`; http/handlers/ApiDescriptions.ts serves it on the router itself. */
export class ApiDescriptionsApi extends HttpApiGroup.make("apiDescriptions")
  .add(
    HttpApiEndpoint.get("describe", "/v1/db/", {
      headers: { ...branchHeaders, ...IfNoneMatch.fields, "accept-profile": Schema.optionalKey(Schema.String) },
      success: [Document.pipe(HttpApiSchema.asJson({ contentType: "application/openapi+json" }))],
      error: clientErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Get an OpenAPI 3.1 document of the tables, views and functions of a schema",
        description:
          "Describes what the caller's role has privileges for, as of now. `Accept-Profile` selects the schema. `Accept: application/json` sets the response's content type. Returns an ETag; with `If-None-Match`, 304 if nothing has changed."
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "API description" })) {}
