import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiScalar, OpenApi } from "effect/http-api"
import { Api } from "./Api.ts"
import { FunctionsApi } from "./api/Functions.ts"
import { RealtimeSocketApi } from "./api/Realtime.ts"
import { RowsApi } from "./api/Rows.ts"
import { SqlApi } from "./api/Sql.ts"

const description = `Client API under \`/v1\`, management API under \`/api\`. Send an API key in the header \`apikey\`; \`x-api-key\` is an alias.
With an anon key, \`Authorization: Bearer <JWT>\` says who the user is. Every failed answer has the schema \`Error\`.`

/** The answer of whatever fails, on every path. */
const failed = (text: string) => ({
  description: text,
  content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } }
})

const texts: Readonly<Record<string, string>> = {
  400: "The request is wrong as it is",
  401: "Missing, unknown or revoked API key, or a JWT that is not good",
  403: "Not with this key, or not by row-level security",
  404: "No such record, table, function or route",
  405: "The path does not know this method",
  406: "Not an exposed schema",
  409: "In conflict with what is stored, or with another transaction",
  413: "The body is too large",
  414: "The URL is too long",
  415: "The body is no JSON",
  429: "Over the key's rate limit; see Retry-After",
  500: "A mistake of ours, or a function that raised an internal error",
  502: "The object store does not answer, or refuses this service",
  503: "The database or the object store is away or busy; see Retry-After",
  504: "The statement or the object store took too long"
}

/**
 * What the framework does not know: that every failure leaves with one body (http/middleware/ErrorBodies.ts), and that
 * the front door asks for a key wherever a path begins with /v1.
 */
const complete = (spec: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  for (const [path, operations] of Object.entries(spec.paths)) {
    for (const operation of Object.values(operations)) {
      if (!("responses" in operation)) continue
      for (const status of Object.keys(operation.responses).map(Number)) {
        if (status >= 400) operation.responses[status] = failed(texts[status] ?? "Refused")
      }
      Object.assign(operation.responses, { default: failed("Every other failure") })
      if (/^\/(v1|api)\/|^\/realtime$/.test(path)) operation.security = [{ apikey: [] }]
      if (path.startsWith("/v1/db/")) operation.security.push({ apikey: [], bearer: [] })
    }
  }
  for (const name of Object.keys(spec.components.schemas)) {
    if (name.startsWith("svc_")) delete spec.components.schemas[name]
  }
  spec.components.securitySchemes = {
    apikey: { type: "apiKey", in: "header", name: "apikey", description: "An API key: svc_pk_… or svc_sk_…" },
    bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT", description: "The JWT of your user" }
  }
  return spec
}

/** The whole contract, for readers and generators: what HttpApi serves and what the router itself does. */
class Contract extends HttpApi.make("svc")
  .addHttpApi(Api)
  .add(SqlApi)
  .add(RowsApi)
  .add(FunctionsApi)
  .add(RealtimeSocketApi)
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

const templates = [...Object.entries(document.paths), ["/openapi.json", { get: {} }], ["/docs", { get: {} }]].map(
  ([path, operations]) => ({
    matches: new RegExp(
      `^${String(path)
        .replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&")
        .replaceAll(/\{[^}]+\}/g, "[^/]+")}$`
    ),
    methods: methodsOfOperations(Object.keys(operations as object))
  })
)

/** The methods that a path of ours knows; none for a path that is not ours. */
export const methodsOf = (path: string): ReadonlyArray<string> =>
  templates.find((template) => template.matches.test(path))?.methods ?? []

/** `GET /openapi.json` (OpenAPI 3.1) and `GET /docs`. */
export const DocsRoutes = Layer.mergeAll(
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      yield* router.add("GET", "/openapi.json", HttpServerResponse.jsonUnsafe(document))
    })
  ),
  HttpApiScalar.layer(Contract, { path: "/docs" })
)
