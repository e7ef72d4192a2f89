import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Connection,
  ConnectionChange,
  ConnectionCheck,
  ConnectionId,
  NewConnection
} from "../../domain/connections/Connection.ts"
import { Conflict, NotFound, Unavailable } from "../../domain/errors.ts"
import { Management } from "../access/Access.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

const params = { id: ConnectionId }

/** Saved connection strings (spec: connections). */
export class ConnectionsApi extends HttpApiGroup.make("connections")
  .add(
    HttpApiEndpoint.get("list", "/", { success: Schema.Array(Connection), error: Unavailable }).annotateMerge(
      OpenApi.annotations({ summary: "List saved connections, with masked passwords" })
    ),
    HttpApiEndpoint.post("create", "/", {
      payload: NewConnection,
      success: Connection.pipe(HttpApiSchema.status(201)),
      error: [Conflict, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Save a connection string, encrypted" })),
    HttpApiEndpoint.get("find", "/:id", { params, success: Connection, error: [NotFound, Unavailable] }).annotateMerge(
      OpenApi.annotations({ summary: "Show a saved connection, with its password masked" })
    ),
    HttpApiEndpoint.patch("update", "/:id", {
      params,
      payload: ConnectionChange,
      success: Connection,
      error: [NotFound, Conflict, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Change a saved connection",
        description: "A string encrypted with an old key is re-encrypted with the current one, even by `{}`."
      })
    ),
    HttpApiEndpoint.delete("remove", "/:id", {
      params,
      success: Success,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Delete a saved connection" })),
    HttpApiEndpoint.post("test", "/:id/test", {
      params,
      success: ConnectionCheck,
      error: [NotFound, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Test a saved connection for up to 5 seconds",
        description:
          "PostgreSQL: signs in and runs `select 1`. Others: only checks that a server accepts connections, with TLS where the protocol starts with it."
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/connections")
  .annotateMerge(
    OpenApi.annotations({
      title: "Connections",
      description: "Connection strings of other databases, stored encrypted"
    })
  ) {}
