import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiScalar, OpenApi } from "effect/http-api"
import { Api } from "./Api.ts"
import { ApiDescriptionsApi } from "./api/ApiDescriptions.ts"
import { FlagEvaluationApi } from "./api/FlagEvaluation.ts"
import { ConsentPageApi } from "./api/ConsentPage.ts"
import { FunctionsApi } from "./api/Functions.ts"
import { LogoutPageApi } from "./api/LogoutPage.ts"
import { OfrepApi } from "./api/Ofrep.ts"
import { RealtimeSocketApi } from "./api/Realtime.ts"
import { RowsApi } from "./api/Rows.ts"
import { SqlApi } from "./api/Sql.ts"

const description = `Client API under \`/v1\`, management API under \`/api\`. Send an API key in the header \`apikey\`; \`x-api-key\` is an alias.
With an anon key, \`Authorization: Bearer <JWT>\` says who the user is. \`/api\` also takes sessions of the identity provider. Every failed answer has the schema \`Error\`.`

/** The answer of whatever fails, on every path. */
const failed = (text: string) => ({
  description: text,
  content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } }
})

const texts: Readonly<Record<string, string>> = {
  300: "More than one relationship or function fits; `details` or the message names them",
  400: "The request is wrong as it is",
  401: "Missing, unknown or revoked API key, no session, or a JWT that is not good",
  403: "Not with this key or session, or not by row-level security",
  404: "No such record, table, function or route",
  405: "The path does not know this method",
  406: "Not an exposed schema, not a media type that there is, or not one row where one was asked for",
  409: "In conflict with what is stored, or with another transaction",
  410: "Expired or used; `redirect_to` is where to start again, if anywhere",
  412: "Not the revision that If-Match asks for",
  413: "The body is too large",
  414: "The URL is too long",
  415: "The body is no JSON",
  416: "No such range: it begins behind the last row, or is not in the file",
  422: "The request is good, but what it is about, such as a file, is not",
  429: "Over the key's rate limit, or too many guesses; see Retry-After",
  500: "A mistake of ours, or a function that raised an internal error",
  501: "This can't be done with the service as it is",
  502: "A component (object store, identity provider, OAuth 2.0 server) does not answer, or refuses this service",
  503: "The database or the object store is away or busy (see Retry-After), or a component is not configured",
  504: "The statement or a component took too long"
}

type Security = OpenApi.OpenAPISpecOperation["security"]

const session: Security = [{ svc_session: [] }, { idp_session: [] }]
/** For who is nobody yet, or comes with a challenge. */
const open = /^\/api\/(?:auth\/(?:login|recovery)(?:\/|$)|oauth2\/bridge\/)/

/** What a path asks for; any one of them lets in. */
const securityOf = (path: string): Security | undefined => {
  if (open.test(path)) return []
  if (path.startsWith("/api/auth/") || path.startsWith("/oauth2/")) return session
  if (path.startsWith("/api/") || path === "/realtime") return [{ apikey: [] }, ...session]
  if (path.startsWith("/ofrep/")) return [{ apikey: [] }, { bearer: [] }, ...session]
  if (path.startsWith("/v1/db/")) return [{ apikey: [] }, { apikey: [], bearer: [] }]
  return path.startsWith("/v1/") ? [{ apikey: [] }] : undefined
}

/**
 * What the framework does not know: that every failure leaves with one body (http/middleware/ErrorBodies.ts), and that
 * the front door asks for a key wherever a path begins with /v1.
 */
const complete = (spec: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  for (const [path, operations] of Object.entries(spec.paths)) {
    for (const operation of Object.values(operations)) {
      if (!("responses" in operation)) continue
      const own = path.startsWith("/ofrep/") ? [400, 404] : []
      for (const status of Object.keys(operation.responses).map(Number)) {
        if ((status >= 400 || status === 300) && !own.includes(status))
          operation.responses[status] = failed(texts[status] ?? "Refused")
      }
      Object.assign(operation.responses, { default: failed("Every other failure") })
      const security = securityOf(path)
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
    idp_session: {
      type: "apiKey",
      in: "cookie",
      name: "idp_session",
      description: "The identity provider's own session cookie"
    },
    bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT", description: "The JWT of your user" }
  }
  return spec
}

/** The whole contract, for readers and generators: what HttpApi serves and what the router itself does. */
class Contract extends HttpApi.make("svc")
  .addHttpApi(Api)
  .add(SqlApi)
  .add(ApiDescriptionsApi)
  .add(RowsApi)
  .add(FunctionsApi)
  .add(OfrepApi)
  .add(RealtimeSocketApi)
  .add(ConsentPageApi)
  .add(LogoutPageApi)
  .add(FlagEvaluationApi)
  .annotateMerge(
    OpenApi.annotations({
      title: "Backend platform",
      version: "0.1.0",
      description,
      transform: (spec) => complete(spec as OpenApi.OpenAPISpec)
    })
  ) {}

const document = OpenApi.fromApi(Contract)

const methodsOfOperations = (names: ReadonlyArray<string>) => {
  const methods = names.map((name) => name.toUpperCase())
  return ["OPTIONS", ...methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))]
}

const templates = [
  ...Object.entries(document.paths),
  ["/v1/db", { get: {} }],
  ["/openapi.json", { get: {} }],
  ["/docs", { get: {} }]
].map(([path, operations]) => ({
  matches: new RegExp(
    `^${String(path)
      .replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&")
      .replaceAll(/\{[^}]+\}/g, "[^/]+")}$`
  ),
  methods: methodsOfOperations(Object.keys(operations as object))
}))

/** The methods that a path of ours knows; none for a path that is not ours. `/a/b` knows those of `/a/{c}` too. */
export const methodsOf = (path: string): ReadonlyArray<string> => {
  const all = templates.filter((template) => template.matches.test(path)).flatMap(({ methods }) => methods)
  return Array.from(new Set(all))
}

/** `GET /openapi.json` (OpenAPI 3.1) and `GET /docs`. */
export const DocsRoutes = Layer.mergeAll(
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      yield* router.add("GET", "/openapi.json", HttpServerResponse.jsonUnsafe(document))
    })
  ),
  HttpApiScalar.layer(Contract, { path: "/docs" })
)
