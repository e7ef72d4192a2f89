import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { NotFound } from "../../domain/errors.ts"
import { JsonObjectSchema } from "../../domain/text/JsonObjectSchema.ts"

/** Contract of http/handlers/Mcp.ts. */
export class McpApi extends HttpApiGroup.make("mcp")
  .add(
    HttpApiEndpoint.post("message", "/mcp", {
      payload: JsonObjectSchema,
      success: JsonObjectSchema,
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Answer a message of the Model Context Protocol (streamable HTTP)",
        description: "With SVC_MCP only. Stateless: there are no sessions, and GET and DELETE are 405."
      })
    ),
    HttpApiEndpoint.get("resource", "/.well-known/oauth-protected-resource", {
      success: Schema.Struct({
        resource: Schema.String,
        authorization_servers: Schema.Array(Schema.String),
        bearer_methods_supported: Schema.Array(Schema.String),
        resource_name: Schema.String
      }),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Name the OAuth 2.0 server of this API (RFC 9728)",
        description: "With SVC_MCP and the embedded OAuth 2.0 server only."
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Model Context Protocol" })) {}
