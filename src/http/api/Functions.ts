import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { branchHeaders } from "./BranchHeaders.ts"
import { clientErrors } from "./Errors.ts"

/** The contract of `/v1/db/rpc/{function}`; served by http/handlers/Functions.ts on the router itself. */
export class FunctionsApi extends HttpApiGroup.make("functions")
  .add(
    HttpApiEndpoint.post("call", "/v1/db/rpc/:function", {
      headers: branchHeaders,
      params: { function: Schema.String },
      payload: [Schema.Record(Schema.String, Schema.Json), Schema.Void],
      success: [Schema.Json, HttpApiSchema.NoContent],
      error: clientErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Call a stored function",
        description:
          "The body holds the arguments by name. A scalar is answered bare, a row as an object, a set as an array, nothing (void) as 204."
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Functions" })) {}
