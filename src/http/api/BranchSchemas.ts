import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { BranchId } from "../../domain/branches/Branch.ts"
import { SchemaDifference, SchemaDifferenceQuery, SchemaRun } from "../../domain/branches/schema/SchemaDifference.ts"
import {
  Conflict,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  NotFound,
  Unavailable,
  Unprocessable
} from "../../domain/errors.ts"
import { MigrationRun } from "../../domain/migrations/Migration.ts"
import { Management } from "../access/Access.ts"
import { Utf8Bodies } from "../wire/Body.ts"

const params = { id: BranchId }
const errors = [InvalidRequest, Forbidden, NotFound, Conflict, Unprocessable, Unavailable, GatewayTimeout] as const

/** The schema of a branch compared with the main database's, and brought to it (spec: Branch). */
export class BranchSchemasApi extends HttpApiGroup.make("branchSchemas")
  .add(
    HttpApiEndpoint.get("schemaChanges", "/schema-changes", {
      params,
      query: SchemaDifferenceQuery.fields,
      success: SchemaDifference,
      error: errors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Compare the schema of a branch with the main database's",
        description:
          "Statements after which `to` (`main`, the default, or `branch`) has the schema of the other one, in an order in which they run; `sql` has them as a migration file. `destructive` ones delete rows or values. `warnings` name what differs and has no statement, and what looks like a rename. Owners, rows, roles and the service's own schemas are not compared."
      })
    ),
    HttpApiEndpoint.post("applyChanges", "/schema-changes", {
      params,
      payload: SchemaRun,
      success: MigrationRun.pipe(HttpApiSchema.status(201)),
      error: errors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Save statements as a migration, and run it on the main database",
        description:
          "In one transaction, with its row in the history; if it fails, neither the file nor anything else stays. 409 `SCHEMA_CHANGED` if the main database no longer has the schema of `fingerprint`. A line `-- svc: new transaction` begins another migration, which is run after the one before is committed."
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/branches/:id")
  .annotateMerge(
    OpenApi.annotations({
      title: "Schemas of branches",
      description: "Changes of a branch's schema as a migration of the main database"
    })
  ) {}
