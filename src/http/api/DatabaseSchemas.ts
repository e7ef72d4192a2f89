import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { DatabaseSchema } from "../../domain/DatabaseSchema.ts"
import { Conflict, InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"
import { branchHeaders } from "./BranchHeaders.ts"
import { ServiceRole } from "../middleware/Access.ts"

/** Tables, views, functions and policies of the exposed schemas (spec: management reads of the client API). */
export class DatabaseSchemasApi extends HttpApiGroup.make("databaseSchemas")
  .add(
    HttpApiEndpoint.get("describe", "/v1/database/schema", {
      success: DatabaseSchema,
      headers: branchHeaders,
      error: [Conflict, InvalidRequest, NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Tables, views, functions and policies of the exposed schemas" }))
  )
  .middleware(ServiceRole)
  .annotateMerge(OpenApi.annotations({ title: "Database schema" })) {}
