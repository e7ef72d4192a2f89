import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { branchHeaders } from "../wire/BranchHeader.ts"
import { clientErrors } from "./Errors.ts"

const Statement = Schema.Struct({
  sql: Schema.String,
  params: Schema.optionalKey(Schema.Array(Schema.Json))
})

const Result = Schema.Struct({
  rows: Schema.Array(Schema.Record(Schema.String, Schema.Json)),
  rowCount: Schema.NullOr(Schema.Int),
  columns: Schema.Array(Schema.Struct({ name: Schema.String, type: Schema.String, oid: Schema.Int })),
  command: Schema.String,
  truncated: Schema.Boolean
})

const options = {
  row_limit: Schema.optionalKey(Schema.Int),
  timeout: Schema.optionalKey(Schema.Int),
  read_only: Schema.optionalKey(Schema.Boolean)
}
const optionsText =
  "`row_limit` is 1 to 10000 rows of a statement; default 1000. `timeout` is 1 to 600000 ms for each statement; default SVC_SQL_TIMEOUT. With `read_only`, PostgreSQL refuses every write to the database's tables (25006), also in functions; it does not stop functions that act outside of them, such as pg_terminate_backend."

/** The contract of `/v1/sql`; http/handlers/Sql.ts serves it on the router itself. */
export class SqlApi extends HttpApiGroup.make("sql")
  .add(
    HttpApiEndpoint.post("run", "/v1/sql", {
      headers: branchHeaders,
      payload: Schema.Struct({ ...Statement.fields, ...options }),
      success: Result,
      error: clientErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Run one SQL statement",
        description: `Requires a service_role key. ${optionsText}`
      })
    ),
    HttpApiEndpoint.post("transaction", "/v1/sql/transaction", {
      headers: branchHeaders,
      payload: Schema.Struct({ statements: Schema.Array(Statement), ...options }),
      success: Schema.Struct({ results: Schema.Array(Result) }),
      error: clientErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Run up to 20 statements in one transaction",
        description: `Requires a service_role key. The error of a statement has its \`statement_index\`. ${optionsText}`
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "SQL over HTTP" })) {}
