import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { DatabaseSchema } from "../../domain/schema/DatabaseSchema.ts"
import { Conflict, InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"
import { branchHeaders } from "../wire/BranchHeader.ts"
import { IfNoneMatch } from "../wire/Preconditions.ts"
import { ServiceRole } from "../access/Access.ts"

/** Tables, views, functions and policies of the exposed schemas (spec: management reads of the client API). */
export class DatabaseSchemasApi extends HttpApiGroup.make("databaseSchemas")
  .add(
    HttpApiEndpoint.get("describe", "/v1/database/schema", {
      query: { all: Schema.optionalKey(Schema.Literals(["true", "false"])) },
      success: DatabaseSchema,
      headers: { ...branchHeaders, ...IfNoneMatch.fields },
      error: [Conflict, InvalidRequest, NotFound, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the tables, views, functions and policies of the exposed schemas",
        description:
          "With `all=true` also those of other schemas, except PostgreSQL's and the service's own. Returns an ETag; with `If-None-Match`, 304 if nothing has changed."
      })
    ),
    HttpApiEndpoint.get("types", "/v1/database/types.ts", {
      query: { schema: Schema.optionalKey(Schema.String) },
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain; charset=utf-8" })),
      headers: { ...branchHeaders, ...IfNoneMatch.fields },
      error: [Conflict, InvalidRequest, NotFound, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Generate TypeScript types of the exposed schemas",
        description:
          "TypeScript source of a type `Database` for `PostgrestClient<Database>` of `@supabase/postgrest-js`. `schema` limits it to some of the exposed schemas, separated by commas; default all. Returns an ETag; with `If-None-Match`, 304 if nothing has changed."
      })
    )
  )
  .middleware(ServiceRole)
  .annotateMerge(OpenApi.annotations({ title: "Database schema" })) {}
