import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { InvalidRequest, NotFound } from "../../domain/errors.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { McpSettings } from "../../services/mcp/Settings.ts"
import { OAuth2Endpoints } from "../../services/oauth2/Endpoints.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { McpApi } from "../api/Mcp.ts"
import { withChosenStatus } from "../wire/ErrorBodies.ts"
import { makeMcpGate } from "../mcp/Gate.ts"
import { makeMcpServer } from "../mcp/Server.ts"
import { addRoutes } from "../wire/ContractRoutes.ts"
import { bodyLimit, jsonBody } from "../wire/Body.ts"

const off = new NotFound({
  error: "This service has no MCP server",
  code: "MCP_OFF",
  hint: "Set SVC_MCP=read to start it"
})
const noOAuth2 = new NotFound({ error: "This service has no OAuth 2.0 server of its own", code: "MCP_NO_OAUTH2" })
const batch = new InvalidRequest({ error: "The body must be one JSON-RPC message, not an array", code: "MCP_BATCH" })

/** The headers that the protocol reads. */
const passed = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"]

/** `/mcp`, for models (docs/mcp.md). */
export const McpRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { mode } = yield* McpSettings
    const { ownUrl } = yield* IdentitySettings
    const { handler } = yield* OAuth2Endpoints
    const enter = yield* makeMcpGate
    const answer = yield* makeMcpServer

    const message = Effect.gen(function* () {
      if (mode === "off") return yield* off
      const request = yield* CurrentRequest
      const caller = yield* enter(request)
      const { value } = yield* jsonBody(request.http, bodyLimit)
      // Each message of an array would be a call that the key's rate limit does not count.
      if (Array.isArray(value)) return yield* batch
      const headers = passed.flatMap((name): Array<[string, string]> => {
        const text = request.headers[name]
        return text === undefined ? [] : [[name, text]]
      })
      const { status, text, type } = yield* answer({ caller, request }, headers, value)
      // Failures are JSON-RPC's.
      return withChosenStatus(
        HttpServerResponse.text(text, {
          status,
          contentType: type ?? "application/json",
          headers: {
            "cache-control": "no-store",
            "x-ratelimit-limit": String(request.limit),
            "x-ratelimit-remaining": String(request.remaining)
          }
        })
      )
    })

    const resource = Effect.gen(function* () {
      if (mode === "off") return yield* off
      if (handler === undefined) return yield* noOAuth2
      return HttpServerResponse.jsonUnsafe({
        resource: ownUrl,
        authorization_servers: [ownUrl],
        bearer_methods_supported: ["header"],
        resource_name: "Backend platform"
      })
    })

    yield* addRoutes(router, McpApi, { message, resource })
  })
)
