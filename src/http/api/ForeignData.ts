import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  BadGateway,
  Conflict,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  NotFound,
  Unavailable
} from "../../domain/errors.ts"
import {
  ForeignDataListing,
  ForeignImport,
  ForeignServer,
  NewForeignImport,
  NewForeignServer,
  NewUserMapping,
  UserMapping
} from "../../domain/foreign/ForeignData.ts"
import { Management } from "../access/Access.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

const error = [InvalidRequest, Forbidden, NotFound, Conflict, BadGateway, GatewayTimeout, Unavailable] as const

/** Tables of other databases (spec: Foreign data wrappers). */
export class ForeignDataApi extends HttpApiGroup.make("foreignData")
  .add(
    HttpApiEndpoint.get("list", "/api/sql/fdw", { success: ForeignDataListing, error }).annotateMerge(
      OpenApi.annotations({ summary: "List foreign servers with their user mappings, and foreign tables" })
    ),
    HttpApiEndpoint.post("createServer", "/api/fdw/server", {
      payload: NewForeignServer,
      success: ForeignServer.pipe(HttpApiSchema.status(201)),
      error
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Create a foreign server, without connecting to it",
        description: "Creates the extension postgres_fdw if it is missing and the role of service keys is allowed to."
      })
    ),
    HttpApiEndpoint.post("createMapping", "/api/fdw/user-mapping", {
      payload: NewUserMapping,
      success: UserMapping.pipe(HttpApiSchema.status(201)),
      error
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Create the user mapping of a role on a foreign server",
        description: "`current_user` is the role of service keys. The password is never returned."
      })
    ),
    HttpApiEndpoint.delete("removeServer", "/api/fdw/server/:server", {
      params: { server: Schema.String },
      query: { cascade: Schema.optionalKey(Schema.Literals(["true", "false"])) },
      success: Success,
      error
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Drop a foreign server with its user mappings",
        description:
          "With `cascade=true` also its foreign tables and what depends on them; 409 if it has some otherwise."
      })
    ),
    HttpApiEndpoint.delete("removeMapping", "/api/fdw/server/:server/user-mapping/:local_user", {
      params: { server: Schema.String, local_user: Schema.String },
      success: Success,
      error
    }).annotateMerge(OpenApi.annotations({ summary: "Drop the user mapping of a role on a foreign server" })),
    HttpApiEndpoint.post("import", "/api/fdw/import", {
      payload: NewForeignImport,
      success: ForeignImport.pipe(HttpApiSchema.status(201)),
      error
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Import all tables of a foreign schema, or none",
        description:
          "Creates the local schema if it is missing. anon and authenticated get no privileges on the tables."
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .annotateMerge(OpenApi.annotations({ title: "Foreign data", description: "Tables of other databases" })) {}
