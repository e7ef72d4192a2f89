import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
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
import { Utf8Bodies } from "../front/Utf8Bodies.ts"

const error = [InvalidRequest, Forbidden, NotFound, Conflict, BadGateway, GatewayTimeout, Unavailable] as const

/** Tables of other databases (spec: Foreign data wrappers). */
export class ForeignDataApi extends HttpApiGroup.make("foreignData")
  .add(
    HttpApiEndpoint.get("list", "/api/sql/fdw", { success: ForeignDataListing, error }).annotateMerge(
      OpenApi.annotations({ summary: "List foreign servers, who has a user mapping, and foreign tables" })
    ),
    HttpApiEndpoint.post("createServer", "/api/fdw/server", {
      payload: NewForeignServer,
      success: ForeignServer.pipe(HttpApiSchema.status(201)),
      error
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Name a foreign server; nothing is connected to yet",
        description: "The extension postgres_fdw is created where it is missing and the role of service keys may."
      })
    ),
    HttpApiEndpoint.post("createMapping", "/api/fdw/user-mapping", {
      payload: NewUserMapping,
      success: UserMapping.pipe(HttpApiSchema.status(201)),
      error
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Say as whom a role signs in at a foreign server",
        description: "`current_user` is the role of service keys. The password is never shown again."
      })
    ),
    HttpApiEndpoint.post("import", "/api/fdw/import", {
      payload: NewForeignImport,
      success: ForeignImport.pipe(HttpApiSchema.status(201)),
      error
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Make foreign tables of all tables of a foreign schema, or of none",
        description: "The schema here is made when it is missing. anon and authenticated get no right on the tables."
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .annotate(HttpApi.PayloadParseOptions, { errors: "all" })
  .annotateMerge(OpenApi.annotations({ title: "Foreign data", description: "Tables of other databases" })) {}
