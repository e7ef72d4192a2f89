import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { branchHeaders } from "./BranchHeaders.ts"
import { clientErrors } from "./Errors.ts"

const Row = Schema.Record(Schema.String, Schema.Json)
const Returned = Schema.Array(Row)
const params = { table: Schema.String }

/** Filters are further parameters: `<column>=<operator>.<value>`. */
const query = {
  select: Schema.optionalKey(Schema.String),
  order: Schema.optionalKey(Schema.String),
  limit: Schema.optionalKey(Schema.Int),
  offset: Schema.optionalKey(Schema.Int)
}

const filters =
  "Every other query parameter is a filter `<column>=<operator>.<value>` with eq, neq, gt, gte, lt, lte, like, ilike (`*` is the wildcard), is (null, not_null, true, false, unknown) and in (`in.(a,b)`), each also after `not.`; all must hold."

/** The contract of `/v1/db/{table}`; served by http/handlers/Rows.ts on the router itself. */
export class RowsApi extends HttpApiGroup.make("rows")
  .add(
    HttpApiEndpoint.get("read", "/v1/db/:table", {
      headers: branchHeaders,
      params,
      query,
      success: Returned,
      error: clientErrors
    }).annotateMerge(OpenApi.annotations({ summary: "Read rows", description: filters })),
    HttpApiEndpoint.post("insert", "/v1/db/:table", {
      headers: branchHeaders,
      params,
      query: { select: query.select, columns: Schema.optionalKey(Schema.String) },
      payload: Schema.Union([Row, Schema.Array(Row)]),
      success: Returned.pipe(HttpApiSchema.status(201)),
      error: clientErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Insert one row or several",
        description: "A key that a row lacks becomes the column's default. `Prefer: return=minimal` answers no rows."
      })
    ),
    HttpApiEndpoint.patch("update", "/v1/db/:table", {
      headers: branchHeaders,
      params,
      query: { select: query.select },
      payload: Row,
      success: Returned,
      error: clientErrors
    }).annotateMerge(OpenApi.annotations({ summary: "Update rows", description: `A filter is required. ${filters}` })),
    HttpApiEndpoint.delete("remove", "/v1/db/:table", {
      headers: branchHeaders,
      params,
      query: { select: query.select },
      success: Returned,
      error: clientErrors
    }).annotateMerge(OpenApi.annotations({ summary: "Delete rows", description: `A filter is required. ${filters}` }))
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Rows", description: "Row CRUD on every table and view of the exposed schemas" })
  ) {}
