import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { branchHeaders } from "../wire/BranchHeader.ts"
import { rowErrors } from "./Errors.ts"

const Row = Schema.Record(Schema.String, Schema.Json)
const Returned = Schema.Array(Row)
const params = { table: Schema.String }
const text = Schema.optionalKey(Schema.String)

/** Of requests whose answers may have rows in them. */
const answering = { ...branchHeaders, accept: text, prefer: text }
const reading = { ...answering, "accept-profile": text, range: text, "range-unit": text }
const writing = { ...answering, "content-profile": text }

/** Filters are further parameters: `<column>=<operator>.<value>`. */
const query = {
  select: text,
  order: text,
  limit: Schema.optionalKey(Schema.Int),
  offset: Schema.optionalKey(Schema.Int)
}

/** The same rows in other media types. */
const body = <S extends Schema.Top>(row: S) => [
  row,
  Schema.Record(Schema.String, Schema.String).pipe(HttpApiSchema.asFormUrlEncoded()),
  Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" }))
]

const filters =
  "Every other query parameter is a filter `<column>=<operator>.<value>`, such as `id=eq.5`, `name=ilike.a*`, `id=in.(1,2)`, `tags=cs.{a}` or `or=(a.is.null,b.gt.3)`, each operator also after `not.`; all must hold. The grammar is PostgREST's. "
const forms =
  "`Accept: application/vnd.pgrst.object+json` answers one row bare, `text/csv` CSV, `;nulls=stripped` behind an `application/vnd.pgrst.…+json` leaves nulls out."
const preferences =
  "`Prefer: return=minimal` answers no rows, `return=headers-only` of a POST only `Location`, `count=exact` tells how many in `Content-Range`."

const described = (summary: string, description: string) => OpenApi.annotations({ summary, description })

/** The contract of `/v1/db/{table}`; served by http/handlers/Rows.ts on the router itself. */
export class RowsApi extends HttpApiGroup.make("rows")
  .add(
    HttpApiEndpoint.get("read", "/v1/db/:table", {
      headers: reading,
      params,
      query,
      success: [Returned, Returned.pipe(HttpApiSchema.status(206))],
      error: rowErrors
    }).annotateMerge(
      described(
        "Read rows",
        `${filters}\`Prefer: count=exact\`, \`planned\` or \`estimated\` tells in \`Content-Range\` how many there are without limit and offset; 206 where that is more than were answered. ${forms}`
      )
    ),
    HttpApiEndpoint.post("insert", "/v1/db/:table", {
      headers: writing,
      params,
      query: { select: query.select, columns: text, on_conflict: text },
      payload: body(Schema.Union([Row, Schema.Array(Row)])),
      success: [Returned.pipe(HttpApiSchema.status(201)), Returned],
      error: rowErrors
    }).annotateMerge(
      described(
        "Insert one row or several",
        `A key that a row lacks becomes the column's default, with \`Prefer: missing=null\` null. \`Prefer: resolution=merge-duplicates\` or \`ignore-duplicates\` makes it an upsert by the primary key or \`on_conflict\`, 200 when nothing was new. ${preferences}`
      )
    ),
    HttpApiEndpoint.put("upsert", "/v1/db/:table", {
      headers: writing,
      params,
      query: { select: query.select, columns: text },
      payload: body(Row),
      success: [Returned, Returned.pipe(HttpApiSchema.status(201)), HttpApiSchema.NoContent],
      error: rowErrors
    }).annotateMerge(
      described(
        "Insert or replace one row",
        "The filters are the primary key with `eq`, the row has the same values; 201 when it is new."
      )
    ),
    HttpApiEndpoint.patch("update", "/v1/db/:table", {
      headers: writing,
      params,
      query: { select: query.select, columns: text },
      payload: body(Row),
      success: [Returned, HttpApiSchema.NoContent],
      error: rowErrors
    }).annotateMerge(
      described(
        "Update rows",
        `A filter is required. ${filters}${preferences} \`handling=strict, max-affected=5\` refuses to touch more than five.`
      )
    ),
    HttpApiEndpoint.delete("remove", "/v1/db/:table", {
      headers: writing,
      params,
      query: { select: query.select },
      success: [Returned, HttpApiSchema.NoContent],
      error: rowErrors
    }).annotateMerge(described("Delete rows", `A filter is required. ${filters}${preferences}`))
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Rows", description: "Row CRUD on every table and view of the exposed schemas" })
  ) {}
