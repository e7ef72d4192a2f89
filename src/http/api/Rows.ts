import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { branchHeaders } from "../wire/BranchHeader.ts"
import { importErrors, rowErrors } from "./Errors.ts"

const Row = Schema.Record(Schema.String, Schema.Json)
const Returned = Schema.Array(Row)
const params = { table: Schema.String }
const text = Schema.optionalKey(Schema.String)

/** Headers of requests whose response may contain rows. */
const answering = { ...branchHeaders, accept: text, prefer: text }
const reading = { ...answering, "accept-profile": text, range: text, "range-unit": text }
const writing = { ...answering, "content-profile": text }

/** Filters are additional parameters: `<column>=<operator>.<value>`. */
const query = {
  select: text,
  order: text,
  limit: Schema.optionalKey(Schema.Int),
  offset: Schema.optionalKey(Schema.Int)
}

/** The accepted media types of a row. */
const body = <S extends Schema.Top>(row: S) => [
  row,
  Schema.Record(Schema.String, Schema.String).pipe(HttpApiSchema.asFormUrlEncoded()),
  Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" }))
]

const filters =
  "Every other query parameter is a filter `<column>=<operator>.<value>`, such as `id=eq.5`, `name=ilike.a*`, `id=in.(1,2)`, `tags=cs.{a}` or `or=(a.is.null,b.gt.3)`. `not.` before an operator negates it; filters are combined with AND. The grammar is PostgREST's. "
const forms =
  "`Accept: application/vnd.pgrst.object+json` returns a single row as an object, `text/csv` returns CSV, and `;nulls=stripped` after `application/vnd.pgrst.…+json` omits fields that are null."
const preferences =
  "`Prefer: return=minimal` returns no rows, `return=headers-only` on POST returns only `Location`, and `count=exact` returns the number of rows in `Content-Range`."

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
        `${filters}\`Prefer: count=exact\`, \`planned\` or \`estimated\` returns the number of rows without limit and offset in \`Content-Range\`; the status is 206 when not all of them were returned. \`Prefer: max-cell=400\` cuts values with more characters, and adds a field \`$cut\` with the names and bytes of those that were cut, or null. ${forms}`
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
        "Insert one or more rows",
        `A column that a row omits gets its default, or NULL with \`Prefer: missing=null\`. \`Prefer: resolution=merge-duplicates\` or \`ignore-duplicates\` makes the request an upsert by the primary key or \`on_conflict\`, with status 200 when no row was inserted. ${preferences}`
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
        "The filters must compare all primary key columns, and no others, with `eq`, and the row must have the same values. The status is 201 when the row was inserted."
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
        `A filter is required. ${filters}${preferences} \`handling=strict, max-affected=5\` fails, and changes nothing, when more than five rows match.`
      )
    ),
    HttpApiEndpoint.post("load", "/v1/db/:table/import", {
      headers: { ...branchHeaders, "content-profile": text },
      params,
      query: {
        null: text,
        on_conflict: text,
        resolution: Schema.optionalKey(Schema.Literals(["merge-duplicates", "ignore-duplicates"]))
      },
      payload: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" })),
      success: Schema.Struct({
        rows: Schema.Int,
        inserted: Schema.optionalKey(Schema.Int),
        updated: Schema.optionalKey(Schema.Int),
        skipped: Schema.optionalKey(Schema.Int)
      }).pipe(HttpApiSchema.status(201)),
      error: importErrors
    }).annotateMerge(
      described(
        "Import a CSV of any size",
        "For service_role keys. The first line has the column names. The body is streamed into PostgreSQL's COPY: all rows are written, or none. Cells that are empty or `NULL` are null, unless they are in quotes; with `null`, only cells with that text are. With `on_conflict`, the columns of a key, rows whose key exists replace the values there, or are skipped with `resolution=ignore-duplicates`; the response then counts `inserted`, `updated` and `skipped`. `details` of an error names the line and the column."
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
    OpenApi.annotations({
      title: "Rows",
      description: "Create, read, update and delete rows of the tables and views in the exposed schemas"
    })
  ) {}
