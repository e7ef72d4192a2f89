import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { branchHeaders } from "../wire/BranchHeader.ts"
import { rowErrors } from "./Errors.ts"

const text = Schema.optionalKey(Schema.String)
const answering = { ...branchHeaders, accept: text, prefer: text }
const params = { function: Schema.String }
const Result = [Schema.Json, Schema.Json.pipe(HttpApiSchema.status(206)), HttpApiSchema.NoContent]
const rows =
  "On a function that returns a set of rows, `select`, `order`, `limit`, `offset` and filters work as on a table."

/** The contract of `/v1/db/rpc/{function}`; served by http/handlers/StoredFunctions.ts on the router itself. */
export class StoredFunctionsApi extends HttpApiGroup.make("storedFunctions")
  .add(
    HttpApiEndpoint.get("read", "/v1/db/rpc/:function", {
      headers: { ...answering, "accept-profile": text, range: text },
      params,
      success: Result,
      error: rowErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Call a read-only stored function",
        description: `The arguments are query parameters. The function runs in a read-only transaction. ${rows}`
      })
    ),
    HttpApiEndpoint.post("call", "/v1/db/rpc/:function", {
      headers: { ...answering, "content-profile": text },
      params,
      payload: [
        Schema.Record(Schema.String, Schema.Json),
        Schema.Record(Schema.String, Schema.String).pipe(HttpApiSchema.asFormUrlEncoded()),
        Schema.String.pipe(HttpApiSchema.asText()),
        Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array()),
        Schema.Void
      ],
      success: Result,
      error: rowErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Call a stored function",
        description: `The body maps argument names to values; a function with a single unnamed argument receives the whole body. The result is a bare JSON value for a scalar, an object for a row, an array for a set, and 204 for void. ${rows}`
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Stored functions" })) {}
