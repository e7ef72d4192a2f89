import { HttpApi, OpenApi } from "effect/http-api"
import { version } from "../domain/Version.ts"
import { Api } from "./Api.ts"
import { AccountPagesApi } from "./api/AccountPages.ts"
import { ApiDescriptionsApi } from "./api/ApiDescriptions.ts"
import { FlagEvaluationApi } from "./api/FlagEvaluation.ts"
import { ConsentPageApi } from "./api/ConsentPage.ts"
import { FunctionCallsApi } from "./api/FunctionCalls.ts"
import { StoredFunctionsApi } from "./api/StoredFunctions.ts"
import { LogoutPageApi } from "./api/LogoutPage.ts"
import { McpApi } from "./api/Mcp.ts"
import { NoticePagesApi } from "./api/NoticePages.ts"
import { OAuth2EndpointsApi } from "./api/OAuth2Endpoints.ts"
import { OfrepApi } from "./api/Ofrep.ts"
import { ClientQueuesApi } from "./api/Queues.ts"
import { RealtimeSocketApi } from "./api/Realtime.ts"
import { RowsApi } from "./api/Rows.ts"
import { SqlApi } from "./api/Sql.ts"

const description = `Client API under \`/v1\`, management API under \`/api\`. Send an API key in the header \`apikey\`; \`x-api-key\` is an alias.
With an anon key, \`Authorization: Bearer <JWT>\` identifies the user. \`/api\` also accepts sessions of the identity provider. Every error response has the schema \`Error\`.`

/** The response of every failure, on every path. */
const failed = (text: string) => ({
  description: text,
  content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } }
})

const texts: Readonly<Record<string, string>> = {
  300: "More than one relationship or function matches; `details` or the message lists them",
  400: "The request is invalid",
  401: "The API key, session or JWT is missing or invalid",
  403: "Not allowed for this key or session, or by row-level security",
  404: "The record, table, function or route does not exist",
  405: "The method is not allowed on this path",
  406: "The schema is not exposed, the media type is not available, or the result is not the single row that was requested",
  409: "Conflicts with the stored state or with another transaction",
  410: "Expired or already used; `redirect_to` is the address to start again, if there is one",
  412: "The stored revision differs from If-Match",
  413: "The body is too large",
  414: "The URL is too long",
  415: "The body is not JSON",
  416: "The range is outside of the rows or the file",
  422: "The request is valid, but what it refers to, such as a file, is not",
  429: "The key's rate limit or a limit on attempts is exceeded; see Retry-After",
  500: "An internal error of the service, or raised by a function",
  501: "Not supported in this configuration of the service",
  502: "A component (object store, identity provider, OAuth 2.0 server) does not respond, or rejects the service's requests",
  503: "The database or the object store is unreachable or busy (see Retry-After), or a component is not configured",
  504: "The statement or a component timed out"
}

type Security = OpenApi.OpenAPISpecOperation["security"]

const session: Security = [{ svc_session: [] }, { idp_session: [] }]
const dashboard: Security = [{ svc_dashboard: [] }]
/** Paths without authentication: signing in, and OAuth 2.0 redirects with a challenge. */
const open =
  /^\/api\/(?:auth\/(?:(?:login|recovery|verification)(?:\/|$)|methods$|register$)|oauth2\/bridge\/|dashboard\/config$)/

/** The credentials that an operation requires; any one of the alternatives is sufficient. */
const securityOf = (path: string, method: string): Security | undefined => {
  if (open.test(path) || path.startsWith("/.well-known/") || path.startsWith("/auth/")) return []
  // Signing in needs no credentials, signing out nothing but the cookie.
  if (path === "/api/dashboard/session" && method !== "get") return method === "post" ? [] : dashboard
  if (/^\/oauth2\/(?:auth|sessions|token|revoke|introspect|userinfo|error|signed-out)/.test(path)) return []
  if (path.startsWith("/api/auth/") || path.startsWith("/oauth2/")) return session
  if (path.startsWith("/api/") || path === "/realtime") return [{ apikey: [] }, ...dashboard, ...session]
  if (path === "/mcp") return [{ apikey: [] }, { bearer: [] }, { apikey: [], bearer: [] }]
  if (path.startsWith("/ofrep/")) return [{ apikey: [] }, { bearer: [] }, ...session]
  if (/^\/v1\/(?:db|queues)\//.test(path)) return [{ apikey: [] }, { apikey: [], bearer: [] }]
  return path.startsWith("/v1/") ? [{ apikey: [] }] : undefined
}

/**
 * Adds what HttpApi does not describe: that all failures have one body (http/front/ErrorBodies.ts), and that all paths
 * under /v1 require a key (http/access/ClientGate.ts).
 */
const complete = (spec: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  for (const [path, operations] of Object.entries(spec.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (!("responses" in operation)) continue
      const own = path.startsWith("/ofrep/") ? [400, 404] : []
      for (const status of Object.keys(operation.responses).map(Number)) {
        if ((status >= 400 || status === 300) && !own.includes(status))
          operation.responses[status] = failed(texts[status] ?? "The request failed")
      }
      Object.assign(operation.responses, { default: failed("Any other failure") })
      const security = securityOf(path, method)
      if (security !== undefined) operation.security = security
    }
  }
  for (const name of Object.keys(spec.components.schemas)) {
    if (name.startsWith("svc_")) delete spec.components.schemas[name]
  }
  spec.components.securitySchemes = {
    apikey: { type: "apiKey", in: "header", name: "apikey", description: "An API key: svc_pk_… or svc_sk_…" },
    svc_session: {
      type: "apiKey",
      in: "cookie",
      name: "svc_session",
      description: "A session token of the identity provider"
    },
    svc_dashboard: {
      type: "apiKey",
      in: "cookie",
      name: "svc_dashboard",
      description: "A session of the dashboard; over https the name is `__Host-svc_dashboard`"
    },
    idp_session: {
      type: "apiKey",
      in: "cookie",
      name: "idp_session",
      description: "The identity provider's own session cookie"
    },
    bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT", description: "The user's JWT" }
  }
  return spec
}

/** The whole contract, for documentation and generators: the routes of HttpApi and those on the router itself. */
export class Contract extends HttpApi.make("svc")
  .addHttpApi(Api)
  .add(SqlApi)
  .add(ClientQueuesApi)
  .add(ApiDescriptionsApi)
  .add(RowsApi)
  .add(StoredFunctionsApi)
  .add(FunctionCallsApi)
  .add(OfrepApi)
  .add(RealtimeSocketApi)
  .add(AccountPagesApi)
  .add(ConsentPageApi)
  .add(LogoutPageApi)
  .add(NoticePagesApi)
  .add(OAuth2EndpointsApi)
  .add(FlagEvaluationApi)
  .add(McpApi)
  .annotateMerge(
    OpenApi.annotations({
      title: "Backend platform",
      version,
      description,
      transform: (spec) => complete(spec as OpenApi.OpenAPISpec)
    })
  ) {}

let made: OpenApi.OpenAPISpec | undefined

/** OpenAPI 3.1 of the contract, made on first use because that takes 10 % of the service's start. */
export const document = (): OpenApi.OpenAPISpec => (made ??= OpenApi.fromApi(Contract))

const pages = ["/v1/db", "/openapi.json", "/docs", "/", "/favicon.ico"].map((path) => ({ path, method: "GET" }))

/** The methods of each template, such as `/v1/db/{table}`. */
export const routes: ReadonlyMap<string, ReadonlyArray<string>> = [
  ...Object.values(Contract.groups).flatMap(({ endpoints }) => Object.values(endpoints)),
  ...pages
].reduce((found, { method, path }) => {
  const template = path.replaceAll(/:(\w+)/g, "{$1}")
  return found.set(template, [...(found.get(template) ?? []), ...(method === "GET" ? ["GET", "HEAD"] : [method])])
}, new Map<string, ReadonlyArray<string>>())

const templates = Array.from(routes, ([template, methods]) => ({
  matches: new RegExp(`^${template.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll(/\{[^}]+\}/g, "[^/]+")}$`),
  methods: ["OPTIONS", ...methods]
}))

/** The methods allowed on a path; empty if there is no such route. `/a/b` also has those of `/a/{c}`. */
export const methodsOf = (path: string): ReadonlyArray<string> => {
  if (path === "/dashboard" || path.startsWith("/dashboard/")) return ["OPTIONS", "GET", "HEAD"]
  const all = templates.filter((template) => template.matches.test(path)).flatMap(({ methods }) => methods)
  return Array.from(new Set(all))
}
